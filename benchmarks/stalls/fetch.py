"""Readers: of old versions, of data that is not in memory, of much at once."""

from __future__ import annotations

import os
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.brokers import Server
from benchmarks.stalls.client import (
    MB,
    FrameClient,
    batch,
    check,
    delete_topics,
    fetch_request,
    make_topic,
    produce_request,
    values,
)
from benchmarks.stalls.measure import Scenario

_VERSION = 11
_PATCH = 1 << 18
_SLOW_DISK = Path("/sys/fs/cgroup/blkio/kafkapy-stalls")


def fill(server: Server, topic: str, megabytes: int) -> None:
    """So many MB of 1 KB records, in batches of 1 MB."""
    request = produce_request(topic, batch(values(1000, 970)))
    with FrameClient(server.port) as client:
        frame = client.frame(request, 9)
        for _ in range(megabytes):
            client.socket.sendall(frame)
            check(client.answer(request, 9).responses[0].partition_responses[0].error_code)


class _Reading(Scenario):
    topic = "stalls-read"

    def __init__(self, name: str, megabytes: int) -> None:
        self.name = name
        self._megabytes = megabytes

    def prepare(self, server: Server) -> None:
        make_topic(server, self.topic)
        fill(server, self.topic, self._megabytes)

    def clean(self, server: Server) -> None:
        delete_topics(server, self.topic)


class SlowReaders(_Reading):
    """Fetch requests of version 2, which need conversion to message format 1, from clients that take the answer slowly."""

    readers = 10
    seconds = 8.0

    def load(self, server: Server) -> None:
        threads = [threading.Thread(target=self._read, args=(server,)) for _ in range(self.readers)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _read(self, server: Server) -> None:
        end = time.monotonic() + self.seconds
        with FrameClient(server.port, receive_buffer=65536) as client:
            request = fetch_request(self.topic, 0, self._megabytes * MB)
            client.socket.sendall(client.frame(request, 2))
            while time.monotonic() < end and client.socket.recv(65536):
                time.sleep(0.01)


class Reading(_Reading):
    """All of a topic, as fast as it comes."""

    def load(self, server: Server) -> None:
        with FrameClient(server.port) as client:
            offset = 0
            for _ in range(self._megabytes // 10):
                size = len(client.ask(fetch_request(self.topic, offset, 10 * MB), _VERSION))
                offset += size // MB * 1000


class ColdReading(Scenario):
    """A consumer that lags behind, on a disk of 20 MB a second."""

    name = "cold reads from a disk of 20 MB/s"
    topic = "stalls-cold"
    seconds = 8.0

    def prepare(self, server: Server) -> None:
        make_topic(server, self.topic)
        fill(server, self.topic, 300)
        self.forget(server.directory / "data" / f"{self.topic}-0")

    def forget(self, directory: Path) -> None:
        forget_pages(directory)

    def load(self, server: Server) -> None:
        end, offset = time.monotonic() + self.seconds, 0
        with slow_disk(server), FrameClient(server.port) as client:
            while time.monotonic() < end:
                size = len(client.ask(fetch_request(self.topic, offset, 10 * MB), _VERSION))
                offset += size // MB * 1000

    def clean(self, server: Server) -> None:
        delete_topics(server, self.topic)


class PatchyReading(ColdReading):
    """Of each half megabyte the end is in memory, as where others have read here and there: no sample is sure to meet a page that
    is not."""

    name = "reads from a disk of 20 MB/s, every second 256 KB in memory"

    def forget(self, directory: Path) -> None:
        forget_pages(directory)
        for path in directory.glob("*.log"):
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_RANDOM)  # nothing is read ahead
            for position in range(_PATCH, os.fstat(file).st_size, 2 * _PATCH):
                os.pread(file, _PATCH, position)
            os.close(file)


class Waiting(Scenario):
    """Each record is what thousands of fetches have waited for, and all of them run out of time together in the end."""

    name = "3,000 fetches wait for one partition, 5 times"
    topic = "stalls-awaited"
    readers = 3000
    records = 5

    def prepare(self, server: Server) -> None:
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        make_topic(server, self.topic)

    def load(self, server: Server) -> None:
        readers = [FrameClient(server.port) for _ in range(self.readers)]
        record = produce_request(self.topic, batch(values(1, 100)))
        with FrameClient(server.port) as writer:
            for offset in range(self.records + 1):
                waiting = fetch_request(self.topic, offset, MB)
                waiting.max_wait_ms = 2000
                for reader in readers:
                    reader.socket.sendall(reader.frame(waiting, _VERSION))
                if offset < self.records:
                    writer.ask(record, 9)
                for reader in readers:
                    reader.receive()
        for reader in readers:
            reader.socket.close()

    def clean(self, server: Server) -> None:
        delete_topics(server, self.topic)


def forget_pages(directory: Path) -> None:
    """None of the files' pages are in memory afterwards."""
    for path in directory.iterdir():
        if path.is_file():
            file = os.open(path, os.O_RDONLY)
            os.fsync(file)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


@contextmanager
def slow_disk(server: Server, bytes_a_second: int = 20 * MB) -> Iterator[None]:
    """The broker reads so fast from its disk, by the kernel's blkio controller (cgroup 1, root); else as fast as it can."""
    device = os.stat(server.directory).st_dev
    limit = f"{os.major(device)}:{os.minor(device)} "
    try:
        _SLOW_DISK.mkdir(exist_ok=True)
        (_SLOW_DISK / "blkio.throttle.read_bps_device").write_text(f"{limit}{bytes_a_second}")
        (_SLOW_DISK / "cgroup.procs").write_text(str(server.pid))
    except OSError as error:
        print(f"the disk stays as fast as it is: {error}")
        yield
        return
    try:
        yield
    finally:
        (_SLOW_DISK / "blkio.throttle.read_bps_device").write_text(f"{limit}0")
        (_SLOW_DISK.parent / "cgroup.procs").write_text(str(server.pid))
        _SLOW_DISK.rmdir()


def scenarios() -> list[Scenario]:
    return [
        SlowReaders("ten slow readers of 50 MB, Fetch version 2", 50),
        ColdReading(),
        PatchyReading(),
        Reading("read 1 GB from the page cache", 1000),
        Waiting(),
    ]
