"""A stream copies 200,000 records exactly once, while its tasks, executors and drivers are killed."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from kafkapy import KafkaProducer
from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.consumer.range_reader import read_range
from kafkapy.spark.sink_transactions import SinkTransactions
from kafkapy.structs import IsolationLevel, OffsetSpec, TopicPartition
from system_tests.clients import create_topic
from system_tests.conftest import Note, Progress
from system_tests.exactly_once_stream import DIRECTORY, POINTS
from system_tests.services import ROOT, KafkaService

PARTITIONS = 4
MASTER = "local-cluster[2,1,512]"
SECONDS = 1800
VICTIMS = [victim for n, point in enumerate(POINTS) for victim in (point, "executor" if n % 2 else "task")] + [
    "driver",
    "task",
]
"""In turns: tasks while they write, executors under such a task. Half of them are drivers, whose next start takes as long as
many batches."""


class Stream:
    """The Spark program; it is started again whenever it has ended before all is copied."""

    def __init__(self, bootstrap: str, directory: Path, master: str) -> None:
        self._arguments = [bootstrap, "incoming", "outgoing", str(directory), master]
        self.directory = directory
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    @property
    def is_done(self) -> bool:
        return self._process is not None and self._process.poll() == 0

    def keep_alive(self) -> None:
        if self._process is not None and self._process.poll() is None:
            return
        self.kill_all()  # executors go on for a while when their driver has died; some of them may, as rivals
        self.starts += 1
        command = [sys.executable, "-m", "system_tests.exactly_once_stream", *self._arguments]
        environment = {**os.environ, DIRECTORY: str(self.directory), "PYTHONPATH": str(ROOT)}
        with open(self.directory / "stream.out", "ab") as output:
            self._process = subprocess.Popen(command, stdout=output, stderr=output, cwd=ROOT, env=environment)

    def processes(self) -> list[int]:
        """All of this stream's Spark."""
        mark = f"{DIRECTORY}={self.directory}".encode()
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (place / "environ").read_bytes().split(b"\0"):
                    found.append(int(place.name))
            except OSError:
                pass  # it has ended
        return found

    def kill_driver(self) -> bool:
        """Its two processes, if they live: others may have their numbers by now."""
        ours = set(self.processes())
        killed = [_kill(int(pid)) for pid in (self.directory / "driver.pid").read_text().split() if int(pid) in ours]
        return any(killed)

    def kill_all(self) -> None:
        for pid in self.processes():
            _kill(pid)
        if self._process is not None:
            self._process.wait()

    @property
    def batches(self) -> int:
        return len(list((self.directory / "checkpoint" / "commits").glob("[0-9]*")))


def _kill(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def committed(bootstrap: str) -> Counter[bytes]:
    found: Counter[bytes] = Counter()
    with AdminClient(bootstrap) as admin:
        wanted = {TopicPartition("outgoing", n): OffsetSpec.LATEST for n in range(PARTITIONS)}
        ends = values_of(admin.list_offsets(wanted, IsolationLevel.READ_COMMITTED))
    for (topic, partition), end in ends.items():
        batches = read_range(bootstrap, topic, partition, 0, end.offset, isolation_level="read_committed")
        found.update(value for batch in batches for value in batch.column("value").to_pylist())
    return found


@pytest.mark.long
@pytest.mark.timeout(SECONDS + 120)
def test_each_record_once(broker: KafkaService, tmp_path: Path, kills: int, note: Note, progress: Progress) -> None:
    records = 10_000 * kills
    for topic in ("incoming", "outgoing"):
        create_topic(broker.bootstrap, topic, PARTITIONS)
    with KafkaProducer(bootstrap_servers=broker.bootstrap) as producer:
        for n in range(records):
            producer.send("incoming", b"%d" % n, partition=n % PARTITIONS)
    directory = tmp_path / "stream"
    directory.mkdir()
    stream = Stream(broker.bootstrap, directory, os.environ.get("KAFKAPY_TEST_SPARK_MASTER", MASTER))
    victims = itertools.cycle(VICTIMS)
    begun, seen, done = time.monotonic(), 0, Counter[str]()
    victim = next(victims)
    try:
        while not stream.is_done:
            assert time.monotonic() - begun < SECONDS, (directory / "stream.out").read_text()[-4000:]
            stream.keep_alive()
            time.sleep(random.uniform(0.1, 0.3))
            if sum(done.values()) >= kills or stream.batches <= seen:
                continue
            if harm(stream, victim):
                done[victim] += 1
                seen = stream.batches
                progress(f"{sum(done.values())} kills, the last: {victim}; {stream.batches} batches")
                victim = next(victims)
    finally:
        stream.kill_all()
    note("kills", dict(done))
    note("starts", stream.starts)
    found = committed(broker.bootstrap)
    assert sum(done.values()) == kills
    assert len(found) == records
    assert set(found.values()) == {1}
    with SinkTransactions(broker.bootstrap) as cluster:
        assert cluster.open_transactions("") == []


def harm(stream: Stream, victim: str) -> bool:
    """True when somebody was killed."""
    if victim == "driver":
        return stream.kill_driver()
    armed = stream.directory / "armed"
    armed.write_text(victim)
    deadline = time.monotonic() + 60
    while armed.exists() and time.monotonic() < deadline and not stream.is_done:
        time.sleep(0.05)
    killed = not armed.exists()
    armed.unlink(missing_ok=True)
    return killed
