"""A topic in memory, in the place of `KafkaBasedLog`."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import NamedTuple


class FakeRecord(NamedTuple):
    key: bytes | None
    value: bytes | None
    offset: int


class FakeLog:
    """What is sent is read at once. `errors`: what the next sends end with."""

    def __init__(self, on_record: Callable[[FakeRecord], None]) -> None:
        self.records: list[FakeRecord] = []
        self.errors: list[BaseException] = []
        self.partition_count = 1
        self._on_record = on_record

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def flush(self) -> None: ...

    def send(
        self, key: bytes | None, value: bytes | None, done: Callable[[BaseException | None], None] | None = None
    ) -> Future[None]:
        sent: Future[None] = Future()
        error = self.errors.pop(0) if self.errors else None
        if error is None:
            self.feed(key, value)
            sent.set_result(None)
        else:
            sent.set_exception(error)
        if done is not None:
            done(error)
        return sent

    def feed(self, key: bytes | None, value: bytes | None) -> None:
        record = FakeRecord(key, value, len(self.records))
        self.records.append(record)
        self._on_record(record)

    def read_to_end(self) -> Future[None]:
        reached: Future[None] = Future()
        reached.set_result(None)
        return reached
