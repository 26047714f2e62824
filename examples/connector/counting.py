"""A source that counts, and goes on where it was. Replace what it does by what your source does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kafkapy.common.config_def import Importance
from kafkapy.common.config_validators import NonEmptyString, at_least
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.data.schema import STRING_SCHEMA
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import ExactlyOnceSupport, SourceConnector, SourceTask

VERSION = "1.0"
CONFIG = (
    ConfigDef()
    .define("topic", validator=NonEmptyString(), importance=Importance.HIGH, doc="Topic that gets the numbers.")
    .define("to", ConfigType.LONG, 10, validator=at_least(1), importance=Importance.HIGH, doc="The last number.")
    .define("batch.size", ConfigType.INT, 5, validator=at_least(1), importance=Importance.LOW, doc="Numbers of a poll.")
)
PARTITION = {"counter": "one"}


class CountingConnector(SourceConnector):
    """Plans one task."""

    java_class = "org.example.CountingConnector"

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self.settings = dict(config)

    def task_class(self) -> type[SourceTask]:
        return CountingTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        return [self.settings]

    def stop(self) -> None:
        """Nothing is open."""

    def config(self) -> ConfigDef:
        return CONFIG

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """Supported, because an offset tells exactly which numbers are in Kafka."""
        return ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> bool:
        """Let a user set only what a task can read again."""
        for _, offset in offsets:
            if offset is not None and not isinstance(offset.get("number"), int):
                raise ConnectException("An offset has a number, for example {'number': 5}")
        return True


class CountingTask(SourceTask):
    """Invariant: the numbers before `next` were returned."""

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self.settings = CONFIG.parse(config)
        offset = self.context.offset_storage_reader().offset(PARTITION)
        self.next = 1 if offset is None else int(offset["number"]) + 1

    def poll(self) -> list[SourceRecord]:
        numbers = range(self.next, min(self.next + self.settings["batch.size"], self.settings["to"] + 1))
        self.next += len(numbers)
        topic = self.settings["topic"]
        return [
            SourceRecord(PARTITION, {"number": number}, topic, value_schema=STRING_SCHEMA, value=str(number))
            for number in numbers
        ]

    def stop(self) -> None:
        """Nothing is open."""
