"""kafka-console-consumer: writes the records of topics to stdout (after Kafka's `ConsoleConsumer`)."""

from __future__ import annotations

import logging
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, BinaryIO

from kafkapy.common.patterns import PatternError, TranslatedPattern, java_whole
from kafkapy.protocol.errors import KafkaError
from kafkapy.tools.common.client_properties import consumer_arguments, key_values, merge_option, property_file
from kafkapy.tools.common.client_tool import Interruption, client_errors_as_tool_errors, java_error, log_to_stderr
from kafkapy.tools.common.command_line import (
    CommandLineError,
    OptionParser,
    Options,
    ToolError,
    ToolOption,
    integer,
    run,
)
from kafkapy.tools.console.deserializers import SerializationError
from kafkapy.tools.console.message_formatters import DEFAULT, Format, formatter

if TYPE_CHECKING:
    from kafkapy.consumer import ConsumerRecord, KafkaConsumer

_log = logging.getLogger("kafkapy.tools.ConsoleConsumer")
_POLL_MS = 100
"""The longest delay until a signal is noticed."""
_CHUNK = 500

PARSER = OptionParser(
    "This tool helps to read data from Kafka topics and outputs it to standard output.",
    ToolOption("topic", "The topic to read.", "topic"),
    ToolOption("whitelist", "DEPRECATED: use --include, which goes first.", "regex"),
    ToolOption("include", "The topics to read, as a regular expression.", "regex"),
    ToolOption("partition", "The partition to read, from its end if --offset is not given.", "partition", integer),
    ToolOption(
        "offset",
        "Where to begin in the partition: an offset, 'earliest' or 'latest'.",
        "consume offset",
        default="latest",
    ),
    ToolOption("consumer-property", "A config of the consumer as key=value; may be repeated.", "consumer_prop"),
    ToolOption(
        "consumer.config",
        "A property file with configs of the consumer; --consumer-property goes first.",
        "config file",
    ),
    ToolOption("formatter", "The class of Kafka that formats records.", "class", default=DEFAULT),
    ToolOption(
        "property",
        "How records are formatted; may be repeated. print.timestamp, print.key, print.offset, print.partition, "
        "print.headers, print.value (true or false), key.separator, line.separator, headers.separator, null.literal, "
        "key.deserializer, value.deserializer, headers.deserializer (Kafka's classes); configs of a deserializer "
        "are given as key.deserializer.NAME and so on.",
        "prop",
    ),
    ToolOption("formatter-config", "A property file with what --property may say, which goes first.", "config file"),
    ToolOption(
        "from-beginning", "Where the group has no offset yet, begin at the first record and not behind the last."
    ),
    ToolOption(
        "max-messages", "How many records to read before it ends; by default it does not.", "num_messages", integer
    ),
    ToolOption("timeout-ms", "End if no record comes for so long.", "timeout_ms", integer),
    ToolOption("skip-message-on-error", "Skip a record that cannot be formatted instead of ending."),
    ToolOption("bootstrap-server", "REQUIRED: the server(s) to connect to.", "server to connect to"),
    ToolOption("key-deserializer", "The class of Kafka that reads keys.", "deserializer for key"),
    ToolOption("value-deserializer", "The class of Kafka that reads values.", "deserializer for values"),
    ToolOption("enable-systest-events", "Say when it has shut down (for system tests)."),
    ToolOption(
        "isolation-level",
        "read_committed leaves out records of transactions that are not committed; read_uncommitted does not.",
        "level",
        default="read_uncommitted",
    ),
    ToolOption("group", "The id of the consumer's group.", "consumer group id"),
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> int:
    from kafkapy import KafkaConsumer
    from kafkapy.errors import KafkaTimeoutError

    check_options(options)
    properties = consumer_properties(options)
    arguments = consumer_arguments(properties)
    format_record = formatter(options.value("formatter"), formatter_properties(options))
    console = ConsoleConsumer(options, format_record)
    log_to_stderr()
    if options.has("timeout-ms"):
        arguments["bootstrap_timeout_ms"] = max(0, options.value("timeout-ms"))
    try:
        with client_errors_as_tool_errors():
            consumer = KafkaConsumer(**arguments)
    except KafkaTimeoutError as error:
        if not options.has("timeout-ms"):
            raise
        _log.error("Error processing message, terminating consumer process: %s", java_error(error))
        print("Processed a total of 0 messages", file=sys.stderr)
        return 0
    with Interruption() as interruption:
        status = console.run(consumer, interruption)
    if options.has("enable-systest-events"):
        print("shutdown_complete", flush=True)
    return status or interruption.status


def check_options(options: Options) -> None:
    if (not options.has("topic") and not options.count(("include", "whitelist"))) or (
        options.has("topic") and options.count(("include", "whitelist"))
    ):
        raise CommandLineError("Exactly one of --include/--topic is required.")
    if options.has("partition"):
        if not options.has("topic"):
            raise CommandLineError("The topic is required when partition is specified.")
        if options.has("from-beginning") and options.has("offset"):
            raise CommandLineError("Options from-beginning and offset cannot be specified together.")
    elif options.has("offset"):
        raise CommandLineError("The partition is required when offset is specified.")
    options.require("bootstrap-server")


def consumer_properties(options: Options) -> dict[str, str]:
    """The Java configs from the file, the command line and the options."""
    file = property_file(options.value("consumer.config"))
    extra = key_values(options.values("consumer-property"))
    groups = {
        value for value in (options.value("group"), file.get("group.id"), extra.get("group.id")) if value is not None
    }
    if len(groups) > 1:
        raise CommandLineError(
            "The group ids provided in different places (directly using '--group', via '--consumer-property', or via "
            f"'--consumer.config') do not match. Detected group ids: {', '.join(repr(group) for group in sorted(groups))}"
        )
    if groups and options.has("partition"):
        raise CommandLineError("Options group and partition cannot be specified together.")
    properties = file | extra
    _set_offset_reset(properties, options.has("from-beginning"))
    properties["bootstrap.servers"] = options.value("bootstrap-server")
    properties.setdefault("client.id", "console-consumer")
    merge_option(properties, "isolation.level", options.value("isolation-level"), options.has("isolation-level"))
    if groups:
        properties["group.id"] = groups.pop()
    else:
        # A generated group is used once, so it should leave no offsets behind.
        properties["group.id"] = f"console-consumer-{random.randrange(100_000)}"
        properties.setdefault("enable.auto.commit", "false")
    return properties


def _set_offset_reset(properties: dict[str, str], from_beginning: bool) -> None:
    given = properties.setdefault("auto.offset.reset", "earliest" if from_beginning else "latest")
    if from_beginning and given != "earliest":
        raise CommandLineError(
            f"Can't simultaneously specify --from-beginning and 'auto.offset.reset={given}', please remove one option"
        )


def formatter_properties(options: Options) -> dict[str, str]:
    properties = property_file(options.value("formatter-config"))
    for name in ("key", "value"):
        class_name = options.value(f"{name}-deserializer")
        if class_name:
            properties[f"{name}.deserializer"] = class_name
    return properties | key_values(options.values("property"))


def start_offset(options: Options) -> int | str:
    """Parse an offset, "earliest" or "latest"."""
    text: str = options.value("offset")
    if not options.has("offset"):
        return "earliest" if options.has("from-beginning") else "latest"
    if text.lower() in ("earliest", "latest"):
        return text.lower()
    try:
        offset = integer(text)
    except ValueError:
        offset = -1
    if offset < 0:
        raise CommandLineError(
            f"The provided offset value '{text}' is incorrect. Valid values are 'earliest', 'latest', or a non-negative long."
        )
    return offset


class ConsoleConsumer:
    """One run. `count`: records taken so far; those that were not shown are given back before the consumer commits."""

    def __init__(self, options: Options, format_record: Format) -> None:
        self._options = options
        self._format = format_record
        self._partition = options.value("partition")
        self._offset = start_offset(options)
        self._max = options.value("max-messages") if options.has("max-messages") else -1
        self._timeout = options.value("timeout-ms") / 1000 if options.has("timeout-ms") else -1.0
        self._output: BinaryIO = sys.stdout.buffer
        self.count = 0

    def run(self, consumer: KafkaConsumer, interruption: Interruption) -> int:
        """Run, close the consumer, and return the exit status, except that of a signal."""
        try:
            with client_errors_as_tool_errors():
                self._choose(consumer)
            return self._process(consumer, interruption)
        finally:
            consumer.close()
            print(f"Processed a total of {self.count} messages", file=sys.stderr)

    def _choose(self, consumer: KafkaConsumer) -> None:
        from kafkapy import TopicPartition

        options = self._options
        if self._partition is not None:
            partition = TopicPartition(options.value("topic"), self._partition)
            consumer.assign([partition])
            if self._offset == "earliest":
                consumer.seek_to_beginning(partition)
            elif self._offset == "latest":
                consumer.seek_to_end(partition)
            else:
                consumer.seek(partition, int(self._offset))
        elif options.has("topic"):
            consumer.subscribe([options.value("topic")])
        else:
            consumer.subscribe(pattern=_whole(options.value("include") or options.value("whitelist")))

    def _process(self, consumer: KafkaConsumer, interruption: Interruption) -> int:
        while not interruption and self.count != self._max:
            try:
                records = self._receive(consumer, interruption)
            except (KafkaError, TimeoutError) as error:
                told = java_error(error) if isinstance(error, KafkaError) else str(error)
                _log.error("Error processing message, terminating consumer process: %s", told)
                return 0
            rest = iter(records)
            try:
                self._write(rest)
            except BrokenPipeError:
                print("Unable to write to standard out, closing consumer.", file=sys.stderr)
                # Python flushes stdout at exit once more, which would fail: the reader has closed the pipe.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                return 0
            except (SerializationError, ValueError) as error:
                _log.error("Unknown error when running consumer: %s", error)
                return 1
            finally:
                _give_back(consumer, rest)
        return 0

    def _receive(self, consumer: KafkaConsumer, interruption: Interruption) -> list[ConsumerRecord]:
        """The next records; none only after a signal. Raises TimeoutError after --timeout-ms."""
        most = _CHUNK if self._max < 0 else min(_CHUNK, self._max - self.count)
        begin = time.monotonic()
        while not interruption:
            found = consumer.poll(timeout_ms=_POLL_MS, max_records=most)
            if found:
                return list(chain.from_iterable(found.values()))
            if 0 <= self._timeout < time.monotonic() - begin:
                raise TimeoutError("org.apache.kafka.common.errors.TimeoutException")
        return []

    def _write(self, records: Iterator[ConsumerRecord]) -> None:
        """Write formatted records, even if formatting the next record fails."""
        formatted = []
        try:
            for record in records:
                self.count += 1
                try:
                    formatted.append(self._format(record))
                except (SerializationError, ValueError) as error:
                    if not self._options.has("skip-message-on-error"):
                        raise
                    _log.error("Error processing message, skipping this message: %s", error)
        finally:
            self._output.write(b"".join(formatted))
            self._output.flush()


def _whole(pattern: str) -> TranslatedPattern:
    """The pattern for whole topic names, as Java matches."""
    try:
        return java_whole(pattern)
    except PatternError as error:
        raise ToolError(f"{pattern} is an invalid regex: {error}") from error


def _give_back(consumer: KafkaConsumer, unread: Iterator[ConsumerRecord]) -> None:
    """Seek back to the first record of each partition that was not shown, so that it is not committed."""
    from kafkapy import TopicPartition

    first: dict[TopicPartition, int] = {}
    for record in unread:
        first.setdefault(TopicPartition(record.topic, record.partition), record.offset)
    for partition, offset in first.items():
        consumer.seek(partition, offset)


if __name__ == "__main__":
    sys.exit(main())
