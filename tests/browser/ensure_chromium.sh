#!/bin/sh
# The browser tests drive Chromium. On Debian as root it is installed here; elsewhere what is missing is named.
set -eu
command -v chromium >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  apt-get update -qq
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends chromium fonts-noto-cjk >/dev/null
  exit 0
fi
echo "The browser tests need Chromium: install the package 'chromium' of your system and run make test again." >&2
exit 1
