"""A program of its own: ``python -P optimiser.py FOLDER SHAPE`` builds the indexes of one Qdrant Edge shard.

SHAPE is JSON: the arguments of :func:`~clew.storage.search.shard.configuration`, which says what is built.

Qdrant Edge holds Python's interpreter lock for as long as a call lasts, and ``optimize`` lasts seconds to minutes. In
the process that serves searches every thread would stand still, so the work is done here, on a copy of the folder.
"""

import ctypes
import json
import os
import signal
import sys

import qdrant_edge

from clew.storage.search.shard import GraphParameters, configuration

_PR_SET_PDEATHSIG = 1


def main() -> None:
    if sys.platform == "linux":
        # Nobody wants the copy once the parent is gone.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if hasattr(os, "nice"):
        os.nice(10)
    shape = json.loads(sys.argv[2])
    wanted = configuration(shape["dimension"], GraphParameters(**shape["graph"]), shape["points"])
    shard = qdrant_edge.EdgeShard.load(sys.argv[1], wanted)
    shard.optimize()
    shard.flush()
    shard.close()


if __name__ == "__main__":
    main()
