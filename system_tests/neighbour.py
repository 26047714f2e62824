"""A client beside others that attack: it asks a small question again and again, and says how long the answers took.

`python -m system_tests.neighbour PORT CA USER PASSWORD`: it goes on until its input ends.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

from kafkapy.clients.blocking_client import BlockingClient
from kafkapy.clients.config import ClientConfig
from kafkapy.protocol.messages.metadata import MetadataRequest
from system_tests.services import HOST, ROOT

PAUSE_SECONDS = 0.005


class Waits(NamedTuple):
    """Milliseconds."""

    answers: int
    p50: float
    p99: float
    longest: float


class Neighbour:
    """The process. On leaving the context `waits` has what it says."""

    def __init__(self, port: int, ca: Path, user: str, password: str) -> None:
        command = [sys.executable, "-m", "system_tests.neighbour", str(port), str(ca), user, password]
        self._command = command
        self.waits = Waits(0, 0, 0, 0)

    def __enter__(self) -> Neighbour:
        self._process = subprocess.Popen(
            self._command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "connected\n"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        said, _ = self._process.communicate()
        if self._process.returncode == 0:
            self.waits = Waits(*json.loads(said))
        elif error is None:
            raise AssertionError(f"the neighbour was not served: {said}")


def main() -> None:
    port, ca, user, password = sys.argv[1:]
    config = ClientConfig(
        bootstrap_servers=f"{HOST}:{port}",
        security_protocol="SASL_SSL",
        sasl_mechanism="SCRAM-SHA-256",
        sasl_plain_username=user,
        sasl_plain_password=password,
        ssl_cafile=ca,
        request_timeout_ms=60_000,
    )
    over = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        over.set()

    threading.Thread(target=wait, daemon=True).start()
    waits = []
    with BlockingClient(HOST, int(port), config) as client:
        client.call(MetadataRequest(topics=[]))
        print("connected", flush=True)
        while not over.wait(PAUSE_SECONDS):
            began = time.perf_counter()
            client.call(MetadataRequest(topics=[]))
            waits.append((time.perf_counter() - began) * 1000)
    waits.sort()
    print(json.dumps([len(waits), *(round(waits[int(part * (len(waits) - 1))], 1) for part in (0.5, 0.99, 1.0))]))


if __name__ == "__main__":
    main()
