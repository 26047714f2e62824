"""Transforms that change the topic of records (`RegexRouter` and `TimestampRouter`)."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.common.config_def import Importance
from kafkapy.common.java_date_format import date_format, utc
from kafkapy.common.patterns import java
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.config.validators import RegexPattern
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.errors import DataException, IllegalArgumentException, NullPointerException
from kafkapy.connect.transforms.transformation import R, Transformation

_TOPICS_KEPT = 1000


class RegexRouter(Transformation):
    """Replaces the name of the topic if a regular expression matches it as a whole.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> router = RegexRouter()
        >>> router.configure({"regex": "(.*)-old", "replacement": "$1-new"})
        >>> router.apply(SourceRecord({}, {}, "a-old")).topic
        'a-new'
    """

    java_class = "org.apache.kafka.connect.transforms.RegexRouter"
    _DEFINITIONS = (
        ConfigDef()
        .define("regex", validator=RegexPattern(), importance=Importance.HIGH, doc="Regular expression of Java.")
        .define("replacement", importance=Importance.HIGH, doc="The new name; `$1` stands for the first group.")
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._pattern = java(parsed["regex"])
        self._replacement: str = parsed["replacement"]
        self._topics = SchemaCache[str, str | None](_TOPICS_KEPT)

    def apply(self, record: R) -> R | None:
        if record.topic is None:
            raise NullPointerException()
        topic = self._topics.get(record.topic, self._routed)
        return record if topic is None else record.with_topic(topic)

    def _routed(self, topic: str) -> str | None:
        """The new name; None: the old one stays."""
        if not self._pattern.fullmatch(topic):
            return None
        return self._pattern.replace_first(topic, self._replacement)


class TimestampRouter(Transformation):
    """Builds the topic's name from its old name and the record's timestamp, in UTC.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> router = TimestampRouter()
        >>> router.configure({})
        >>> router.apply(SourceRecord({}, {}, "a", timestamp=0)).topic
        'a-19700101'
    """

    java_class = "org.apache.kafka.connect.transforms.TimestampRouter"
    _DEFINITIONS = (
        ConfigDef()
        .define(
            "topic.format",
            default="${topic}-${timestamp}",
            importance=Importance.HIGH,
            doc="The new name; `${topic}` and `${timestamp}` stand for the topic and the timestamp.",
        )
        .define(
            "timestamp.format",
            default="yyyyMMdd",
            importance=Importance.HIGH,
            doc="Pattern of the timestamp, as `java.text.SimpleDateFormat` has it.",
        )
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._topic: str = parsed["topic.format"]
        self._format: str = parsed["timestamp.format"]

    def apply(self, record: R) -> R | None:
        if record.timestamp is None:
            raise DataException(f"Timestamp missing on record: {record}")
        if record.topic is None:
            raise NullPointerException()
        try:
            timestamp = date_format(self._format, utc)(record.timestamp)
        except ValueError as error:
            raise IllegalArgumentException(str(error)) from error
        named = self._topic.replace("${topic}", record.topic)
        return record.with_topic(named.replace("${timestamp}", timestamp))
