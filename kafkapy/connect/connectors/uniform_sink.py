"""What sinks share whose tasks all have the connector's config, and deliver the records of a `put` before it returns."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.unused_configs import warn_of_unused
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.sink import SinkConnector, SinkTask, SinkTaskContext


class UniformSinkConnector(SinkConnector):
    """A sink whose tasks all have the connector's config, and whose offsets are the consumer group's only.

    Attributes:
        task: Class of the tasks.
        prefixes: Of names of configs that are read but not defined.
    """

    task: ClassVar[type[SinkTask]]
    prefixes: ClassVar[tuple[str, ...]] = ()

    def version(self) -> str:
        return VERSION

    def check(self, config: Mapping[str, str]) -> None:
        self.check_values(self.config().parse(config), config)

    def start(self, config: Mapping[str, str]) -> None:
        self.check(config)
        warn_of_unused(config, self.config(), self.prefixes)
        self._config = dict(config)

    @abstractmethod
    def config(self) -> ConfigDef: ...

    @abstractmethod
    def check_values(self, known: Mapping[str, Any], config: Mapping[str, str]) -> None:
        """Raise ConfigException for values that are wrong together, ConnectException if a package is missing.

        Args:
            known: Parsed.
            config: As given.
        """

    def task_class(self) -> type[SinkTask]:
        return self.task

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self._config] * max_tasks

    def stop(self) -> None:
        pass

    def alter_offsets(self, config: Mapping[str, str], offsets: Mapping[TopicPartition, int | None]) -> bool:
        """Every offset will do: they are the consumer group's only."""
        return True


class PutProgress:
    """Which records of a `put` need not be put again.

    After a RetriableException the worker puts the same records again: those that were delivered or given up are skipped.

    Invariant: `_done` has the places of such records since the last `put` that was completed; `attempts` counts the
    failures since a record was done.

    Example:
        >>> progress, record = PutProgress(), SinkRecord("a", 0, None, None, None, "b", 5)
        >>> progress.done([record])
        >>> progress.pending([record])
        []
    """

    def __init__(self) -> None:
        self._done: set[tuple[str | None, int | None, int]] = set()
        self.attempts = 0

    def pending(self, records: Iterable[SinkRecord]) -> list[SinkRecord]:
        """Return the records that are not done."""
        return [record for record in records if _place(record) not in self._done] if self._done else list(records)

    def done(self, records: Iterable[SinkRecord]) -> None:
        """Remember records that were delivered or given up."""
        self._done.update(map(_place, records))
        self.attempts = 0

    def failed(self, most: int) -> bool:
        """Count a failure; returns whether there may be another attempt. `most`: how many attempts may follow the first."""
        self.attempts += 1
        return self.attempts <= most

    def completed(self) -> None:
        """Forget the records: the `put` is complete."""
        self._done.clear()
        self.attempts = 0


def report(context: SinkTaskContext, records: Iterable[SinkRecord], error: ConnectException) -> bool:
    """Report records that cannot be written; returns False if the worker has no place for reports.

    Args:
        context: The task's.
        records: Those that the error is about.
        error: Why.

    Raises:
        ConnectException: `errors.tolerance` is none.
    """
    reporter = context.errant_record_reporter()
    if reporter is None:
        return False
    for record in records:
        reporter.report(record, error)
    return True


def _place(record: SinkRecord) -> tuple[str | None, int | None, int]:
    return record.original_topic, record.original_kafka_partition, record.original_kafka_offset
