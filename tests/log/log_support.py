"""Logs and batches for the tests of kafkapy.log."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from kafkapy.common.scheduler import MockScheduler
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import FetchIsolation, Log
from kafkapy.log.log_config import LogConfig
from kafkapy.log.log_loader import load_log
from kafkapy.record.batches import batches
from kafkapy.record.control_records import ControlRecordType, EndTransactionMarker, build_end_transaction_marker
from kafkapy.record.records_builder import MemoryRecordsBuilder

DATA = Path(__file__).parent / "data"
PARTITION = TopicPartition("t", 0)
NOW = 1_700_000_000_000


class LogDirFixture:
    """One log directory with a clock and a scheduler of its own, opened and closed as often as a test wants."""

    def __init__(self, path: Path, **config: Any) -> None:
        self.directory = str(path / "t-0")
        self.time = MockTime(NOW)
        self.scheduler = MockScheduler(self.time)
        self.failures: list[str] = []
        self.config = log_config(**config)

    def open(self, **arguments: Any) -> Log:
        return load_log(
            self.directory,
            self.config,
            self.scheduler,
            self.time,
            lambda directory, doing, error: self.failures.append(doing),
            **arguments,
        )

    def files(self) -> list[str]:
        return sorted(path.name for path in Path(self.directory).iterdir())

    def read(self, name: str) -> bytes:
        return (Path(self.directory) / name).read_bytes()


def log_config(**values: Any) -> LogConfig:
    """A topic's config; keywords are config names with underscores."""
    return LogConfig({name.replace("_", "."): value for name, value in values.items()})


def batch(
    offset: int = 0,
    values: Iterable[bytes] = (b"v0", b"v1", b"v2"),
    *,
    timestamp: int = NOW,
    epoch: int = 0,
    producer: tuple[int, int, int] = (-1, -1, -1),
    transactional: bool = False,
    **builder: Any,
) -> bytearray:
    """A v2 batch; `producer` is (id, epoch, first sequence)."""
    producer_id, producer_epoch, sequence = producer
    records = MemoryRecordsBuilder(
        base_offset=offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=sequence,
        is_transactional=transactional,
        partition_leader_epoch=epoch,
        **builder,
    )
    for value in values:
        records.append(timestamp, b"key", value)
    return bytearray(records.build())


def marker(
    offset: int, producer_id: int, commit: bool, *, epoch: int = 0, coordinator_epoch: int = 0, producer_epoch: int = 0
) -> bytearray:
    kind = ControlRecordType.COMMIT if commit else ControlRecordType.ABORT
    return bytearray(
        build_end_transaction_marker(
            timestamp=NOW,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            marker=EndTransactionMarker(kind, coordinator_epoch),
            base_offset=offset,
            partition_leader_epoch=epoch,
        )
    )


def offsets(log: Log, start: int = 0, isolation: FetchIsolation = FetchIsolation.LOG_END) -> list[int]:
    """The offsets of all records from `start` on, read segment by segment."""
    return [record[0] for record in records(log, start, isolation)]


def records(
    log: Log, start: int = 0, isolation: FetchIsolation = FetchIsolation.LOG_END
) -> list[tuple[int, bytes | None]]:
    """(offset, value) of all records from `start` on."""
    found: list[tuple[int, bytes | None]] = []
    end = log.end_offset_metadata(isolation).message_offset
    while start < end:
        data = log.read(start, 1 << 30, isolation, True).records
        data = data if isinstance(data, bytes) else data.read()
        if not data:
            break
        for one in batches(data):
            found += [(record.offset, record.value) for record in one.records() if record.offset >= start]
            after = one.next_offset
        start = after
    return found
