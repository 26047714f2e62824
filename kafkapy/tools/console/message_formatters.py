"""The formatters of kafka-console-consumer (Kafka's `MessageFormatter`s), by the names of their Java classes."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.console import internal_topic_formatters as internal
from kafkapy.tools.console.deserializers import Decode, deserializer

if TYPE_CHECKING:
    from kafkapy.consumer import ConsumerRecord

Format = Callable[["ConsumerRecord"], bytes]
"""The text for a record. Raises SerializationError, ValueError."""

_log = logging.getLogger("kafkapy.tools.LoggingMessageFormatter")
_PACKAGE = "org.apache.kafka.tools.consumer."
DEFAULT = _PACKAGE + "DefaultMessageFormatter"

_RENAMED = {
    "kafka.tools.DefaultMessageFormatter": "DefaultMessageFormatter",
    "kafka.tools.LoggingMessageFormatter": "LoggingMessageFormatter",
    "kafka.tools.NoOpMessageFormatter": "NoOpMessageFormatter",
    "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter": "TransactionLogMessageFormatter",
    "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter": "OffsetsMessageFormatter",
    "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter": "GroupMetadataMessageFormatter",
}
"""Deprecated names; the last three are formatters with a format of their own."""


def formatter(class_name: str, properties: Mapping[str, str]) -> Format:
    """The formatter of a Java class name. Raises ToolError if it is unknown."""
    if class_name in _RENAMED:
        print(
            f"WARNING: {class_name} is deprecated and will be removed in the next major release. "
            f"Please use {_PACKAGE}{_RENAMED[class_name]} instead",
            file=sys.stderr,
        )
        if not class_name.startswith("kafka.coordinator."):
            class_name = _PACKAGE + _RENAMED[class_name]
    makers: dict[str, Callable[[Mapping[str, str]], Format]] = {
        _PACKAGE + "DefaultMessageFormatter": default_formatter,
        _PACKAGE + "LoggingMessageFormatter": logging_formatter,
        _PACKAGE + "NoOpMessageFormatter": lambda properties: lambda record: b"",
        _PACKAGE + "OffsetsMessageFormatter": lambda properties: internal.format_offsets,
        _PACKAGE + "GroupMetadataMessageFormatter": lambda properties: internal.format_groups,
        _PACKAGE + "TransactionLogMessageFormatter": lambda properties: internal.format_transactions,
        "kafka.coordinator.transaction.TransactionLog$TransactionLogMessageFormatter": (
            lambda properties: internal.format_old_transactions
        ),
        "kafka.coordinator.group.GroupMetadataManager$OffsetsMessageFormatter": (
            lambda properties: internal.format_old_offsets
        ),
        "kafka.coordinator.group.GroupMetadataManager$GroupMetadataMessageFormatter": (
            lambda properties: internal.format_old_groups
        ),
    }
    if class_name not in makers:
        raise ToolError(f"The formatter {class_name} is not known here. Known are: {', '.join(makers)}")
    return makers[class_name](properties)


def default_formatter(properties: Mapping[str, str]) -> Format:
    """Prints columns in Kafka's order: time, partition, offset, headers, key, value; each is shown if its property is
    set."""
    null = properties.get("null.literal", "null").encode()
    columns: dict[str, Format] = {
        "timestamp": _timestamp,
        "partition": lambda record: b"Partition:%d" % record.partition,
        "offset": lambda record: b"Offset:%d" % record.offset,
        "headers": _headers(properties, null),
        "key": _field(properties, "key", null),
        "value": _field(properties, "value", null),
    }
    shown = [
        column
        for name, column in columns.items()
        if properties.get(f"print.{name}", "true" if name == "value" else "false").strip().lower() == "true"
    ]
    separator = properties.get("key.separator", "\t").encode()
    end = properties.get("line.separator", "\n").encode()
    if not shown:
        return lambda record: b""
    if len(shown) == 1:
        only = shown[0]
        return lambda record: only(record) + end
    return lambda record: separator.join([column(record) for column in shown]) + end


def logging_formatter(properties: Mapping[str, str]) -> Format:
    """The default formatter; each record is also logged."""
    default = default_formatter(properties)

    def format_and_log(record: ConsumerRecord) -> bytes:
        shown = default(record)
        time = "" if record.timestamp_type < 0 else f"{_timestamp(record).decode()}, "
        key = "null " if record.key is None else f"{record.key.decode('utf-8', 'replace')}, "
        value = "null" if record.value is None else record.value.decode("utf-8", "replace")
        _log.info("%skey:%svalue:%s", time, key, value)
        return shown

    return format_and_log


def _timestamp(record: ConsumerRecord) -> bytes:
    if record.timestamp_type < 0:
        return b"NO_TIMESTAMP"
    return b"%s:%d" % (b"LogAppendTime" if record.timestamp_type else b"CreateTime", record.timestamp)


def _field(properties: Mapping[str, str], name: str, null: bytes) -> Format:
    """A key or value. The null literal is deserialized, too, as in Kafka."""
    decode = _deserializer(properties, f"{name}.deserializer")
    if name == "key":
        return lambda record: _text(null if record.key is None else record.key, decode)
    return lambda record: _text(null if record.value is None else record.value, decode)


def _headers(properties: Mapping[str, str], null: bytes) -> Format:
    separator = properties.get("headers.separator", ",").encode()
    decode = _deserializer(properties, "headers.deserializer")

    def show(record: ConsumerRecord) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        pairs = [key.encode() + b":" + _text(null if value is None else value, decode) for key, value in record.headers]
        return separator.join(pairs)

    return show


def _text(content: bytes, decode: Decode | None) -> bytes:
    if decode is None:
        return content
    text = decode(content)
    return text.encode("utf-8", "replace") if isinstance(text, str) else text


def _deserializer(properties: Mapping[str, str], name: str) -> Decode | None:
    if name not in properties:
        return None
    prefix = f"{name}."
    configs = {key.removeprefix(prefix): value for key, value in properties.items() if key.startswith(prefix)}
    return deserializer(properties[name], configs, is_key=name == "key.deserializer")
