"""How long ``clew serve`` takes from the start of its process to the first answer of ``/health``.

    python benchmarks/startup.py [--data DIR] [--runs 5]

Prints wall-clock and processor seconds of each run: the latter say the same on a busy machine. Without ``--data`` an
empty data folder is served; give a filled one to compare.
"""

from __future__ import annotations

import argparse
import http.client
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as empty:
        for _ in range(arguments.runs):
            wall, processor = start(arguments.data or Path(empty))
            print(f"{wall:.2f} s, {processor:.2f} s of processor time")


def start(data: Path) -> tuple[float, float]:
    """Wall-clock and processor seconds until ``/health`` answers 200; the server is stopped again."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    begun = time.monotonic()
    command = [sys.executable, "-m", "clew", "serve", "--port", str(port), "--data", str(data)]
    server = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while not healthy(port):
            if server.poll() is not None:
                raise SystemExit(f"the server ended with {server.returncode}")
            time.sleep(0.005)
        return time.monotonic() - begun, processor_seconds(server.pid)
    finally:
        server.send_signal(signal.SIGINT)
        server.wait()


def healthy(port: int) -> bool:
    """Whether the server answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == http.client.OK
    except OSError:
        return False
    finally:
        connection.close()


def processor_seconds(pid: int) -> float:
    """User and system time of all threads of a process (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


if __name__ == "__main__":
    main()
