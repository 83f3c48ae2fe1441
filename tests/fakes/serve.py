"""The API and the built page over the fake Clew, to work on the page.

Run as ``PYTHONPATH=tests python -m fakes.serve PORT``.
"""

from __future__ import annotations

import sys

from clew.api.server import serve
from fakes.clew import FakeClew

if __name__ == "__main__":
    serve(FakeClew(stage_seconds=0.4, word_seconds=0.03), port=int(sys.argv[1]))
