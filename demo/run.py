"""``make demo``: load the demo documents, answer its questions in the terminal, serve the page.

Uses only the ``clew`` command. With ``DEMO_ONCE=1`` in the environment it ends after the answers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
KB = "demo"


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--clew", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--port", type=int, required=True)
    arguments = parser.parse_args()

    def clew(*words: str, capture: bool = False) -> str:
        command = [str(arguments.clew), *words, "--data", str(arguments.data)]
        done = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE if capture else None)
        return done.stdout or ""

    if KB not in [kb["name"] for kb in json.loads(clew("kb", "list", "--json", capture=True))]:
        clew("kb", "create", KB)
    documents = [str(path) for path in sorted((HERE / "documents").iterdir()) if path.name != "README.md"]
    clew("add", *documents, "--kb", KB)
    for question in (HERE / "questions.txt").read_text("utf-8").splitlines()[:2]:
        print(f"\n──── {question}\n", flush=True)
        clew("ask", question, "--kb", KB)
    if os.environ.get("DEMO_ONCE") == "1":
        return 0
    print(f"\nOpen http://127.0.0.1:{arguments.port} in a browser; Ctrl-C ends the demo.", flush=True)
    try:
        clew("serve", "--port", str(arguments.port))
    except KeyboardInterrupt:
        print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
