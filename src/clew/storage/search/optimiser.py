"""A program of its own: ``python -P optimiser.py FOLDER`` builds the indexes of one Qdrant Edge shard.

Qdrant Edge holds Python's interpreter lock for as long as a call lasts, and ``optimize`` lasts seconds to minutes. In
the process that serves searches every thread would stand still, so the work is done here, on a copy of the folder.
"""

import ctypes
import os
import signal
import sys

import qdrant_edge

_PR_SET_PDEATHSIG = 1


def main() -> None:
    if sys.platform == "linux":
        # Nobody wants the copy once the parent is gone.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if hasattr(os, "nice"):
        os.nice(10)
    shard = qdrant_edge.EdgeShard.load(sys.argv[1])
    shard.optimize()
    shard.flush()
    shard.close()


if __name__ == "__main__":
    main()
