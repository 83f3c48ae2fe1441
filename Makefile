# Clew. `make demo` shows it, `make test` tests it; both set up what they need.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DEMO_DATA ?= .demo-data
DEMO_PORT ?= 8765
# pytest arguments, for example: make pytest ARGS="tests/unit -k fusion"
ARGS ?=

# The embedded model is built once for all test runs of this user.
export CLEW_TEST_MODELS ?= $(HOME)/.cache/clew-tests/models

.PHONY: demo test lint pytest web web-test browser-test screenshots wheel lock clean chromium

demo: $(VENV)/.ready src/clew/api/page/index.html
	@$(PYTHON) demo/run.py --clew $(BIN)/clew --data $(DEMO_DATA) --port $(DEMO_PORT)

test: lint web-test browser-test pytest

lint: $(VENV)/.ready
	$(BIN)/ruff format --check src tests benchmarks demo scripts multihop_classifier
	$(BIN)/ruff check src tests benchmarks demo scripts multihop_classifier
	$(BIN)/mypy
	$(BIN)/lint-imports

pytest: $(VENV)/.ready src/clew/api/page/index.html
	$(BIN)/python -m pytest $(ARGS)
	$(BIN)/python -m pytest --rootdir multihop_classifier -c multihop_classifier/pyproject.toml multihop_classifier/tests

web: src/clew/api/page/index.html

web-test: web/node_modules/.ready src/clew/api/page/index.html
	cd web && npm run --silent lint && npm run --silent typecheck && PYTHON=$(PYTHON) npm run --silent test

browser-test: $(VENV)/.ready web/node_modules/.ready src/clew/api/page/index.html chromium
	cd web && CLEW_MODELS__FOLDER=$(CLEW_TEST_MODELS) PYTHON=$(abspath $(BIN)/python) npm run --silent test:browser

# Pictures of every page in both languages and themes, into docs/images.
screenshots: $(VENV)/.ready web/node_modules/.ready src/clew/api/page/index.html chromium
	cd web && CLEW_MODELS__FOLDER=$(CLEW_TEST_MODELS) PYTHON=$(abspath $(BIN)/python) npm run --silent screenshots
	$(BIN)/python scripts/shrink_images.py docs/images

# On Debian as root Chromium is installed; elsewhere what is missing is named.
chromium:
	@sh tests/browser/ensure_chromium.sh

wheel: src/clew/api/page/index.html $(VENV)/.ready
	$(BIN)/uv build --quiet --wheel --out-dir dist .

lock: $(VENV)/.ready
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	  --group dev --all-extras --output-file requirements.lock pyproject.toml

clean:
	rm -rf $(VENV) web/node_modules src/clew/api/page dist $(DEMO_DATA)

$(VENV)/.ready: pyproject.toml requirements.lock
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
	  { echo "Clew needs Python 3.11 to 3.13; name one with make PYTHON=/path/to/python."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv
	$(BIN)/uv pip install --quiet --compile-bytecode --python $(BIN)/python --require-hashes -r requirements.lock
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps -e .
	touch $@

web/node_modules/.ready: web/package.json web/package-lock.json
	@node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' || \
	  { echo "The page is built with Node 20 or newer; install it from your system's packages."; exit 1; }
	cd web && npm ci --silent --no-audit --no-fund
	touch $@

src/clew/api/page/index.html: web/node_modules/.ready $(shell find web/src web/index.html web/vite.config.ts -type f 2>/dev/null)
	cd web && npm run --silent build
	touch $@
