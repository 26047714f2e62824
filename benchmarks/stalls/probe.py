"""What a client of the broker waits for its answers: `python -m benchmarks.stalls.probe JSON`, a process of its own.

The job says `kind` ("ping": ApiVersions, "produce": a record, acks=1), `port`, `topic`, `out`. It says when it is ready.
The first line of standard input is the broker's pid; with the end of standard input the samples go to `out`, as JSON. A
request is due every 5 ms. One that is due while another waits is not sent: what it would have waited is counted, else one
long wait would hide 100.
"""

from __future__ import annotations

import gc
import json
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.headers import encode_request
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest
from kafkapy.protocol.messages.produce import ProduceRequest
from kafkapy.record.batch_encoder import Columns, encode_columns, finish_batch

PERIOD_SECONDS = 0.005
_PATIENCE_SECONDS = 0.1
"""How long it waits for bytes before it looks whether it has to stop."""
_JAVA_THREADS = "data-plane-kafk"
"""The kernel's name, cut, of the threads that read, answer and write requests of Apache's broker."""
now = time.monotonic


class Sample(NamedTuple):
    """`at` of the monotonic clock, all in seconds. `own`: of `wall`, what was not spent waiting for a core."""

    at: float
    wall: float
    own: float


class CoreWaits:
    """How long the threads between a request and its answer have been ready to run without a core: what the kernel counts as
    `run_delay`. kafkapy's is the main thread. Of Apache's broker a network thread, the connection's, and a request thread serve a
    request; nobody says which, so the two count that waited longest meanwhile."""

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._files: list[int] = []
        self._serving = 1
        self.find()

    def find(self) -> None:
        """Once more: a broker that starts has not all its threads yet."""
        for file in self._files:
            os.close(file)
        tasks = Path(f"/proc/{self._pid}/task").iterdir()
        java = [str(task) for task in tasks if (task / "comm").read_text().startswith(_JAVA_THREADS)]
        threads = java or [f"/proc/{self._pid}/task/{self._pid}"]
        self._serving = 2 if java else 1
        self._files = [os.open(f"{thread}/schedstat", os.O_RDONLY) for thread in ["/proc/self", *threads]]

    def of_each(self) -> list[int]:
        """In ns: of this process, then of the broker's threads."""
        return [int(os.pread(file, 100, 0).split()[1]) for file in self._files]

    def seconds_since(self, before: list[int]) -> float:
        """What one request that was under way since then can have met."""
        own, *threads = (now - then for now, then in zip(self.of_each(), before, strict=True))
        return (own + sum(sorted(threads)[-self._serving :])) / 1e9


class Probe:
    """One connection, one request at a time."""

    def __init__(self, port: int, frame: bytes, pid: int) -> None:
        self._port = port
        self._frame = frame
        self._waits = CoreWaits(pid)
        self._socket: socket.socket | None = None
        self.samples: list[Sample] = []
        self.connected: list[float] = []
        """When there was a connection, and when the first answer on it: a pair for each."""

    def run(self) -> None:
        due = now()
        while not _is_to_stop(max(0.0, due - now())):
            try:
                self._connect()
                due = self._ask()
            except OSError:
                self._drop()
                due = now() + PERIOD_SECONDS

    def _connect(self) -> None:
        if self._socket is None:
            self._socket = socket.create_connection(("127.0.0.1", self._port), 1)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.settimeout(_PATIENCE_SECONDS)
            self.connected.append(now())

    def _drop(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _ask(self) -> float:
        """One request; when the next one is due."""
        assert self._socket is not None
        waited, began = self._waits.of_each(), now()
        self._socket.sendall(self._frame)
        answered = _receive(self._socket)
        end = now()
        wall = end - began
        own = wall - min(wall, self._waits.seconds_since(waited))
        if len(self.connected) % 2:  # the first answer: of one that has just started, all threads are there now
            self.connected.append(end)
            self._waits.find()
        due = began
        while due < end:
            left = (end - due) / wall
            self.samples.append(Sample(due, left * wall, left * own))
            due += PERIOD_SECONDS
        if not answered:
            self._drop()
        return due


def _receive(connection: socket.socket) -> bool:
    """Read one frame; False: it was told to stop before that came."""
    missing, size = 4, b""
    while missing > 0:
        try:
            data = connection.recv(65536)
        except TimeoutError:
            if _is_to_stop(0):
                return False
            continue
        if not data:
            raise ConnectionError("closed")
        missing -= len(data)
        if len(size) < 4:
            size += data[: 4 - len(size)]
            if len(size) == 4:
                missing += int(struct.unpack(">i", size)[0])
    return True


def _is_to_stop(seconds: float) -> bool:
    """Waits so long for the end of standard input."""
    return bool(select.select([sys.stdin], [], [], seconds)[0])


def _frame(kind: str, topic: str) -> bytes:
    if kind == "ping":
        return encode_request(ApiKey.API_VERSIONS, 0, 1, "stalls-ping", ApiVersionsRequest())
    records = finish_batch(encode_columns(Columns([b"x" * 100], None, None, [(0, int(time.time() * 1000))])))
    data = ProduceRequest.PartitionProduceData(index=0, records=records)
    request = ProduceRequest(
        acks=1, timeout_ms=30_000, topic_data=[ProduceRequest.TopicProduceData(name=topic, partition_data=[data])]
    )
    return encode_request(ApiKey.PRODUCE, 9, 1, "stalls-produce", request)


def _go_first() -> None:
    """Before all other threads of the machine, where that is allowed."""
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
    except OSError:
        print("the probes have no right to real-time priority: they may wait for cores", file=sys.stderr)


def windows(connected: list[float]) -> Iterator[tuple[float, float]]:
    """(connected, first answer) of each connection that had an answer."""
    return zip(connected[::2], connected[1::2], strict=False)


def main() -> None:
    job = json.loads(sys.argv[1])
    frame = _frame(job["kind"], job["topic"])
    gc.disable()
    _go_first()
    print("ready", flush=True)
    pid = int(sys.stdin.readline())
    probe = Probe(job["port"], frame, pid)
    probe.run()
    Path(job["out"]).write_text(json.dumps({"samples": probe.samples, "connected": probe.connected}))


if __name__ == "__main__":
    main()
