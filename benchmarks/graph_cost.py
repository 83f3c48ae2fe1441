"""What the names of a corpus cost at index time, as a share of the encoder's time.

    python benchmarks/graph_cost.py --data DATA/retrieval [--passages 600] NAME …

The first passages of ``NAME.corpus.jsonl.gz`` go through the write flow into a folder that is thrown away. Counted is
processor time, so that a busy machine does not tell.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from clew.app import Clew
from clew.evaluation.corpus import parsed_corpus
from clew.evaluation.datasets import read_corpus
from clew.indexing import pipeline


class Spent:
    """Processor seconds of all threads, by what was called."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)

    def counted(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """``call``, its time added up under ``name``."""

        def timed(*arguments: Any, **named: Any) -> Any:
            start = time.process_time()
            try:
                return call(*arguments, **named)
            finally:
                self.seconds[name] += time.process_time() - start

        return timed


def main() -> None:
    """Print the times and the share of each corpus."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--passages", type=int, default=600)
    arguments = parser.parse_args()
    find_names: Callable[..., Any] = pipeline.chunk_names
    for name in arguments.names:
        passages = read_corpus(arguments.data / f"{name}.corpus.jsonl.gz")[: arguments.passages]
        spent = Spent()
        with tempfile.TemporaryDirectory() as folder, Clew.open(folder) as clew:
            clew.embedder.embed_passages(["the model is loaded before the clock runs"])
            clew.embedder.embed_passages = spent.counted("encoder", clew.embedder.embed_passages)
            clew.records.stage_names = spent.counted("names stored", clew.records.stage_names)
            pipeline.chunk_names = spent.counted("names found", find_names)
            kb = clew.create_kb(name)
            file = clew.ingest_parsed(kb.kb_id, name, parsed_corpus(passages))
            chunks = file.counts["children"]
        seconds = spent.seconds
        share = (seconds["names found"] + seconds["names stored"]) / seconds["encoder"]
        told = ", ".join(f"{what} {seconds[what]:.2f} s" for what in ("encoder", "names found", "names stored"))
        print(f"{name}: {len(passages)} passages, {chunks} chunks: {told}; names / encoder {share:.1%}", flush=True)


if __name__ == "__main__":
    main()
