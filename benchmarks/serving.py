"""How soon ``clew serve`` decides, and how it bears many questions at once.

    python benchmarks/serving.py --data DIR --kb NAME [--streams 20] [--questions 60]

Starts a server: DIR has to hold the knowledge base, and no other process may have it open. Prints,
without a language model: milliseconds from sending a question until the ``retrieval_plan`` event arrives, one question
after the other in auto mode; then, with ``--streams`` questions at the same time, the same and the time to the end of
the answer, every error, and the processor time that the server took for a question: it says the same on a busy machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

_WARM_UP = 5
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Timing:
    """Milliseconds from sending a question to its plan and to its end; ``error`` where it broke."""

    plan: float
    end: float
    mode: str
    error: str = ""


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--kb", required=True)
    parser.add_argument("--streams", type=int, default=20)
    parser.add_argument("--questions", type=int, default=60)
    parser.add_argument("--file", type=Path, help="JSONL with a question in each line; default: built-in ones.")
    arguments = parser.parse_args()
    questions = read_questions(arguments.file)
    server, url = start(arguments.data)
    try:
        asyncio.run(measure(url, server.pid, arguments.kb, questions, arguments.questions, arguments.streams))
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def read_questions(path: Path | None) -> list[str]:
    """The questions of a JSONL file, or some that every corpus bears."""
    if path is not None:
        lines = path.read_text(encoding="utf-8").splitlines()
        return [json.loads(line)["question"] for line in lines if line.strip()]
    return [
        "2023年的营业收入是多少？",
        "How long is the Danube?",
        "甲公司和乙公司哪家的净利润更高？",
        "Which river is longer, the Danube or the Rhine?",
        "公司的注册地址在哪里？",
        "Who is the mother of the director of the film Boden's Boy?",
        "有限责任公司的股东最晚要在几年内缴足出资？",
        "What were the total operating expenses in 2023?",
    ]


def start(data: Path) -> tuple[subprocess.Popen[bytes], str]:
    """A server on the folder, once it answers."""
    server = subprocess.Popen([sys.executable, "-m", "clew", "serve", "--port", "0", "--data", str(data)])
    announced = data / "server.json"
    while server.poll() is None:
        try:
            url = str(json.loads(announced.read_text())["url"])
            if httpx.get(f"{url}/health", trust_env=False).is_success:
                return server, url
        except (OSError, ValueError, httpx.HTTPError):
            time.sleep(0.1)
    raise SystemExit(f"the server ended with {server.returncode}")


async def measure(url: str, pid: int, kb: str, questions: Sequence[str], count: int, streams: int) -> None:
    """Ask one by one, then many at once, and print what it took."""
    limits = httpx.Limits(max_connections=streams)
    async with httpx.AsyncClient(base_url=url, timeout=120, trust_env=False, limits=limits) as client:
        for n in range(_WARM_UP):
            await ask(client, kb, questions[n % len(questions)])
        begun = processor_seconds(pid)
        alone = [await ask(client, kb, questions[n % len(questions)]) for n in range(count)]
        report(f"{count} questions, one after the other", alone, processor_seconds(pid) - begun)
        begun = processor_seconds(pid)
        many = await asyncio.gather(*(ask(client, kb, questions[n % len(questions)]) for n in range(streams)))
        report(f"{streams} questions at once", many, processor_seconds(pid) - begun)
        # As many again while the first ones are still being answered: no rest between two questions of a stream.
        begun = processor_seconds(pid)
        waves = await asyncio.gather(*(ask_on(client, kb, questions, n, 3) for n in range(streams)))
        all_waves = [timing for wave in waves for timing in wave]
        report(f"{streams} streams of 3 questions each", all_waves, processor_seconds(pid) - begun)


def processor_seconds(pid: int) -> float:
    """User and system time of all threads of a process (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


async def ask_on(client: httpx.AsyncClient, kb: str, questions: Sequence[str], first: int, count: int) -> list[Timing]:
    """Several questions in a row."""
    return [await ask(client, kb, questions[(first + n) % len(questions)]) for n in range(count)]


async def ask(client: httpx.AsyncClient, kb: str, question: str) -> Timing:
    """One question, followed to its end."""
    begun = time.perf_counter()
    plan, mode, error, ended, event = 0.0, "", "", False, ""
    try:
        async with client.stream("POST", "/api/v1/chat", json={"question": question, "kbs": [kb]}) as response:
            response.raise_for_status()
            async for line in response.aiter_lines():
                if line.startswith("event: "):
                    event = line[7:]
                elif line.startswith("data: ") and event == "retrieval_plan":
                    plan, mode = (time.perf_counter() - begun) * 1000, str(json.loads(line[6:])["mode"])
                elif line.startswith("data: ") and event == "error":
                    error = line[6:]
                ended = ended or event == "done"
    except httpx.HTTPError as failure:
        error = repr(failure)
    if not ended and not error:
        error = "the stream ended without done"
    return Timing(plan, (time.perf_counter() - begun) * 1000, mode, error)


def report(title: str, timings: Sequence[Timing], processor: float) -> None:
    """Medians and 95th percentiles, and every error."""
    errors = [timing.error for timing in timings if timing.error]
    each = processor * 1000 / len(timings)
    print(f"{title}: {len(errors)} errors, {each:.0f} ms of processor time a question")
    for name, values in (
        ("plan", [t.plan for t in timings if t.plan]),
        ("plan, single", [t.plan for t in timings if t.mode == "single"]),
        ("plan, multi", [t.plan for t in timings if t.mode == "multi"]),
        ("end", [t.end for t in timings if not t.error]),
    ):
        if values:
            middle, late = statistics.median(values), percentile(values, 95)
            print(f"  {name:13} p50 {middle:7.1f} ms   p95 {late:7.1f} ms   n={len(values)}")
    for error in errors[:5]:
        print(f"  error: {error}")


def percentile(values: Sequence[float], percent: int) -> float:
    """The value below which so many percent of the values lie."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, round(percent / 100 * (len(ordered) - 1)))]


if __name__ == "__main__":
    main()
