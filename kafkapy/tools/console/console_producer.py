"""kafka-console-producer: each line of stdin becomes a record (after Kafka's `ConsoleProducer`)."""

from __future__ import annotations

import io
import logging
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TextIO

from kafkapy.protocol.errors import KafkaError
from kafkapy.tools.common.client_properties import key_values, merge_option, producer_arguments, property_file
from kafkapy.tools.common.client_tool import (
    Progress,
    check_host_port,
    client_errors_as_tool_errors,
    java_error,
    log_to_stderr,
)
from kafkapy.tools.common.command_line import (
    CommandLineError,
    OptionParser,
    Options,
    ToolError,
    ToolOption,
    integer,
    run,
)
from kafkapy.tools.console.line_message_reader import LineMessageReader, LineRecord

if TYPE_CHECKING:
    from kafkapy.producer import FutureRecordMetadata, KafkaProducer

_log = logging.getLogger("kafkapy.tools.ConsoleProducer")
_NULL = object()
"""The value of a record without key and value: clients refuse such a record before its value is serialized."""
_LINE_READER = "kafka.tools.ConsoleProducer$LineMessageReader"

PARSER = OptionParser(
    "This tool helps to read data from standard input and publish it to Kafka.",
    ToolOption("topic", "REQUIRED: the topic to write to.", "topic"),
    ToolOption("broker-list", "DEPRECATED: use --bootstrap-server, which goes first.", "broker-list"),
    ToolOption(
        "bootstrap-server", "REQUIRED unless --broker-list is given: the server(s) to connect to.", "host:port,..."
    ),
    ToolOption("sync", "Send record by record: each waits until the one before is acknowledged."),
    ToolOption(
        "compression-codec",
        "none, gzip, snappy, lz4 or zstd; gzip if it is given without a value.",
        "compression-codec",
        optional_argument=True,
    ),
    ToolOption(
        "batch-size",
        "The size of batches in bytes (batch.size); --max-partition-memory-bytes beats it.",
        "size",
        integer,
        default=16384,
    ),
    ToolOption(
        "message-send-max-retries",
        "How often a record is sent again before the producer gives it up (retries).",
        "count",
        integer,
        default=3,
    ),
    ToolOption("retry-backoff-ms", "How long to wait before a record is sent again.", "ms", integer, default=100),
    ToolOption(
        "timeout", "How long a record waits for others in its batch (linger.ms).", "timeout_ms", integer, default=1000
    ),
    ToolOption("request-required-acks", "The acks of the producer's requests.", "acks", default="-1"),
    ToolOption(
        "request-timeout-ms", "How long an answer may take; above 0.", "request timeout ms", integer, default=1500
    ),
    ToolOption(
        "metadata-expiry-ms", "How old metadata may become (metadata.max.age.ms).", "ms", integer, default=300000
    ),
    ToolOption("max-block-ms", "How long a send may block.", "max block on send", integer, default=60000),
    ToolOption(
        "max-memory-bytes",
        "How many bytes of records may wait (buffer.memory).",
        "total memory in bytes",
        integer,
        default=33554432,
    ),
    ToolOption(
        "max-partition-memory-bytes",
        "The size of batches in bytes (batch.size).",
        "memory in bytes per partition",
        integer,
        default=16384,
    ),
    ToolOption(
        "line-reader",
        "The class that reads lines; Kafka's own is the only one here.",
        "reader_class",
        default=_LINE_READER,
    ),
    ToolOption(
        "socket-buffer-size", "The size of the send buffer (send.buffer.bytes).", "size", integer, default=102400
    ),
    ToolOption(
        "property",
        "How lines are read; may be repeated. With their defaults: parse.key=false, parse.headers=false, "
        "ignore.error=false, key.separator=\\t, headers.delimiter=\\t, headers.separator=, (a regular expression), "
        "headers.key.separator=: and null.marker (a field that equals it is null). A line reads "
        '"h1:v1,h2:v2...\\tkey\\tvalue" with parse.headers=true and parse.key=true, "key\\tvalue" with '
        'parse.key=true, "h1:v1,h2:v2...\\tvalue" with parse.headers=true.',
        "prop",
    ),
    ToolOption("reader-config", "A property file with what --property may say, which goes first.", "config file"),
    ToolOption("producer-property", "A config of the producer as key=value; may be repeated.", "producer_prop"),
    ToolOption(
        "producer.config",
        "A property file with configs of the producer; --producer-property goes first.",
        "config file",
    ),
)

_MERGED = {
    "linger.ms": ("timeout",),
    "acks": ("request-required-acks",),
    "request.timeout.ms": ("request-timeout-ms",),
    "retries": ("message-send-max-retries",),
    "retry.backoff.ms": ("retry-backoff-ms",),
    "send.buffer.bytes": ("socket-buffer-size",),
    "buffer.memory": ("max-memory-bytes",),
    "batch.size": ("batch-size", "max-partition-memory-bytes"),
    "metadata.max.age.ms": ("metadata-expiry-ms",),
    "max.block.ms": ("max-block-ms",),
}
"""Options that set a config; the later one takes precedence."""


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> None:
    from kafkapy import KafkaProducer

    if not options.count(("bootstrap-server", "broker-list")):
        raise CommandLineError("Missing required option(s) [bootstrap-server]")
    options.require("topic")
    topic = options.value("topic")
    arguments = producer_arguments(producer_properties(options))
    reader = message_reader(options)
    if reader.null_marker is not None:
        arguments["value_serializer"] = _null_or_bytes
    log_to_stderr()
    with client_errors_as_tool_errors():
        producer = KafkaProducer(**arguments)
    with producer:
        send_all(producer, topic, reader, options.has("sync"))


def producer_properties(options: Options) -> dict[str, str]:
    """The Java configs from the file, the command line and the options' defaults, in Kafka's order of precedence."""
    servers = options.value("bootstrap-server") or options.value("broker-list")
    check_host_port(servers)
    properties = property_file(options.value("producer.config")) | key_values(options.values("producer-property"))
    properties["bootstrap.servers"] = servers
    codec = (options.value("compression-codec") or "gzip") if options.has("compression-codec") else "none"
    if properties.get("compression.type", codec) != codec:
        print("WARNING: compression.type is overridden, use --compression-codec", file=sys.stderr)
    properties["compression.type"] = codec
    properties.setdefault("client.id", "console-producer")
    for name, merged in _MERGED.items():
        for option in merged:
            merge_option(properties, name, options.value(option), options.has(option))
    return properties


def message_reader(options: Options) -> LineMessageReader:
    name = options.value("line-reader")
    if name not in (_LINE_READER, _LINE_READER.rpartition("$")[2]):
        raise ToolError(f"The line reader {name} is not known here. Known is: {_LINE_READER}")
    return LineMessageReader(property_file(options.value("reader-config")) | key_values(options.values("property")))


def send_all(producer: KafkaProducer, topic: str, reader: LineMessageReader, sync: bool) -> None:
    """Send each line. Raises ToolError for a line that cannot be parsed; with `sync` also the error of a send."""
    send = partial(_send_and_wait if sync else _send, producer, topic)
    if sys.stdin.isatty() and sys.stdout.isatty():
        for record in reader.records(_prompt()):
            send(record)
        return
    with Progress(_size(sys.stdin), "B") as progress:
        for line in _text(sys.stdin):
            send(reader.record(line.removesuffix("\n")))
            progress.update(len(line))


def _null_or_bytes(value: object) -> object:
    return None if value is _NULL else value


def _prompt() -> Iterator[str]:
    while True:
        print(">", end="", flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        yield line


def _text(stream: TextIO) -> TextIO:
    """Lines of stdin as Java reads them: UTF-8 in any locale, lines end with LF, CR or both."""
    if hasattr(stream, "buffer"):
        return io.TextIOWrapper(stream.buffer, encoding="utf-8", errors="replace", newline=None)
    return stream


def _size(stream: TextIO) -> int | None:
    """The number of bytes left in a regular file."""
    try:
        status = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return None
    return status.st_size if stat.S_ISREG(status.st_mode) else None


def _publish(producer: KafkaProducer, topic: str, record: LineRecord) -> FutureRecordMetadata:
    value: object = _NULL if record.value is None and record.key is None else record.value
    return producer.send(topic, value, record.key, record.headers)


def _send_and_wait(producer: KafkaProducer, topic: str, record: LineRecord) -> None:
    _publish(producer, topic, record).get()


def _send(producer: KafkaProducer, topic: str, record: LineRecord) -> None:
    """Print the error of a send; the next record is sent (Kafka's `ErrorLoggingCallback`)."""
    report = partial(_report, topic, record)
    try:
        future = _publish(producer, topic, record)
    except KafkaError as error:
        report(error)
    else:
        future.add_errback(report)


def _report(topic: str, record: LineRecord, error: Any) -> None:
    key, value = ("null" if field is None else f"{len(field)} bytes" for field in (record.key, record.value))
    _log.error(
        "Error when sending message to topic %s with key: %s, value: %s with error: %s",
        topic,
        key,
        value,
        java_error(error),
    )


if __name__ == "__main__":
    sys.exit(main())
