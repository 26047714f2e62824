"""kafka-consumer-perf-test: measures the throughput of a consumer (after Kafka's `ConsumerPerformance`)."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Collection, Sequence
from typing import Any

from kafkapy.common.java_date_format import date_format
from kafkapy.tools.common.client_properties import consumer_arguments, property_file
from kafkapy.tools.common.client_tool import (
    Interruption,
    Progress,
    client_errors_as_tool_errors,
    log_to_stderr,
    print_metrics,
)
from kafkapy.tools.common.command_line import CommandLineError, OptionParser, Options, ToolOption, integer, run

_POLL_MS = 100
_MB = 1024 * 1024

PARSER = OptionParser(
    "This tool is used to verify the consumer performance.",
    ToolOption("broker-list", "DEPRECATED: use --bootstrap-server, which goes first.", "broker-list"),
    ToolOption(
        "bootstrap-server", "REQUIRED unless --broker-list is given: the server(s) to connect to.", "host:port,..."
    ),
    ToolOption("topic", "REQUIRED: the topic to read.", "topic"),
    ToolOption("group", "The group's id. (default: perf-consumer- and a number)", "gid"),
    ToolOption("fetch-size", "How much to fetch of a partition in one request.", "size", integer, default=1024 * 1024),
    ToolOption("from-latest", "Where the group has no offset yet, begin behind the last record and not at the first."),
    ToolOption("socket-buffer-size", "The size of the receive buffer.", "size", integer, default=2 * 1024 * 1024),
    ToolOption("threads", "DEPRECATED AND IGNORED.", "count", integer, default=10),
    ToolOption("num-fetch-threads", "DEPRECATED AND IGNORED.", "count", integer, default=1),
    ToolOption("consumer.config", "A property file with configs of the consumer.", "config file"),
    ToolOption("print-metrics", "Print the consumer's metrics."),
    ToolOption("show-detailed-stats", "Print figures for every reporting interval instead of one line at the end."),
    ToolOption(
        "timeout",
        "How long to wait for the next record.",
        "milliseconds",
        integer,
        default=10_000,
        optional_argument=True,
    ),
    ToolOption("messages", "REQUIRED: how many records to read.", "count", integer),
    ToolOption("reporting-interval", "How often figures are printed.", "interval_ms", integer, default=5_000),
    ToolOption(
        "date-format",
        "How times are written; see java.text.SimpleDateFormat.",
        "date format",
        default="yyyy-MM-dd HH:mm:ss:SSS",
    ),
    ToolOption("hide-header", "Print no header."),
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> int:
    from kafkapy import KafkaConsumer

    if not options.count(("bootstrap-server", "broker-list")):
        raise CommandLineError("Missing required option(s) [bootstrap-server]")
    if options.count(("threads", "num-fetch-threads")):
        print("WARNING: option [threads] and [num-fetch-threads] have been deprecated and will be ignored by the test")
    options.require("topic", "messages")
    properties = consumer_properties(options)
    report = Report(options)
    test = ConsumerPerfTest(options, report)
    arguments = consumer_arguments(properties)
    log_to_stderr()
    if not options.has("hide-header"):
        report.header()
    with client_errors_as_tool_errors():
        consumer = KafkaConsumer(**arguments)
    with Interruption() as interruption, Progress(options.value("messages"), "msg") as progress:
        try:
            test.run(consumer, interruption, progress)
            metrics = consumer.metrics() if options.has("print-metrics") else None
        finally:
            consumer.close()
    report.total(test)
    print_metrics(metrics, properties["client.id"])
    return interruption.status


def consumer_properties(options: Options) -> dict[str, str]:
    properties = property_file(options.value("consumer.config"))
    properties |= {
        "bootstrap.servers": options.value("bootstrap-server") or options.value("broker-list"),
        "group.id": options.value("group") or f"perf-consumer-{random.randrange(100_000)}",
        "receive.buffer.bytes": str(options.value("socket-buffer-size")),
        "max.partition.fetch.bytes": str(options.value("fetch-size")),
        "auto.offset.reset": "latest" if options.has("from-latest") else "earliest",
        "check.crcs": "false",
    }
    properties.setdefault("client.id", "perf-consumer-client")
    return properties


class JoinTimes:
    """Time that the consumer has waited for its group, in ms: in total and since the last report."""

    def __init__(self, started_ms: int) -> None:
        self.total = 0
        self.round = 0
        self._started_ms = started_ms

    def revoked(self) -> None:
        self._started_ms = _now_ms()

    def assigned(self) -> None:
        elapsed = _now_ms() - self._started_ms
        self.total += elapsed
        self.round += elapsed


class ConsumerPerfTest:
    """One run: records and bytes (of keys and values) read so far, and the times of start and end (ms)."""

    def __init__(self, options: Options, report: Report) -> None:
        self._topic = options.value("topic")
        self._wanted = options.value("messages")
        self._timeout_ms = options.value("timeout")
        self._interval_ms = options.value("reporting-interval")
        if self._interval_ms <= 0:
            raise CommandLineError("Reporting interval must be greater than 0.")
        self._report = report
        self.records = 0
        self.bytes = 0
        self.start = self.end = _now_ms()
        self.joins = JoinTimes(self.start)

    def run(self, consumer: Any, interruption: Interruption, progress: Progress) -> None:
        self.start = reported = consumed = now = _now_ms()
        self.joins = JoinTimes(self.start)
        with client_errors_as_tool_errors():
            consumer.subscribe([self._topic], listener=_listener(self.joins))
        last = (0, 0)
        while self.records < self._wanted and now - consumed <= self._timeout_ms and not interruption:
            found = consumer.poll(timeout_ms=_POLL_MS)
            now = _now_ms()
            if not found:
                continue
            consumed = now
            for records in found.values():
                self._count(records)
                progress.update(len(records))
            if now - reported >= self._interval_ms:
                self._report.interval(self, last, reported, now, progress.print)
                self.joins.round = 0
                reported, last = now, (self.records, self.bytes)
        self.end = _now_ms()
        if self.records < self._wanted and not interruption:
            progress.print(
                "WARNING: Exiting before consuming the expected number of messages: timeout "
                f"({self._timeout_ms} ms) exceeded. You can use the --timeout option to increase the timeout."
            )

    def _count(self, records: list[Any]) -> None:
        self.records += len(records)
        self.bytes += sum([len(record.value) for record in records if record.value is not None])
        self.bytes += sum([len(record.key) for record in records if record.key is not None])


class Report:
    """Prints Kafka's lines: one at the end, or with --show-detailed-stats one for each interval."""

    def __init__(self, options: Options) -> None:
        self._detailed = options.has("show-detailed-stats")
        try:
            self._time = date_format(options.value("date-format"))
        except ValueError as error:
            raise CommandLineError(f"--date-format: {error}") from error

    def header(self) -> None:
        times = "time, threadId" if self._detailed else "start.time, end.time"
        print(
            f"{times}, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
            "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
        )

    def interval(
        self, test: ConsumerPerfTest, last: tuple[int, int], start: int, end: int, print_line: Callable[[str], None]
    ) -> None:
        """`last`: records and bytes at the last report."""
        if not self._detailed:
            return
        records, megabytes = test.records - last[0], (test.bytes - last[1]) / _MB
        elapsed = end - start
        fetching = elapsed - test.joins.round
        print_line(
            f"{self._time(end)}, 0, {test.bytes / _MB:.4f}, {1000 * megabytes / elapsed:.4f}, {test.records}, "
            f"{1000 * records / elapsed:.4f}, {test.joins.round}, {fetching}, "
            f"{1000 * megabytes / fetching if fetching > 0 else 0:.4f}, "
            f"{1000 * records / fetching if fetching > 0 else 0:.4f}"
        )

    def total(self, test: ConsumerPerfTest) -> None:
        if self._detailed:
            return
        elapsed, megabytes = test.end - test.start, test.bytes / _MB
        fetching = elapsed - test.joins.total
        print(
            f"{self._time(test.start)}, {self._time(test.end)}, {megabytes:.4f}, {_per_second(megabytes, elapsed)}, "
            f"{test.records}, {_per_second(test.records, elapsed)}, {test.joins.total}, {fetching}, "
            f"{_per_second(megabytes, fetching)}, {_per_second(test.records, fetching)}"
        )


def _listener(joins: JoinTimes) -> Any:
    from kafkapy import ConsumerRebalanceListener, TopicPartition

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
            joins.revoked()

        def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
            joins.assigned()

    return Listener()


def _per_second(amount: float, elapsed_ms: int) -> str:
    """A quotient as Java prints a double."""
    if elapsed_ms == 0:
        return "Infinity" if amount else "NaN"
    return f"{1000 * amount / elapsed_ms:.4f}"


def _now_ms() -> int:
    return int(time.time() * 1000)


if __name__ == "__main__":
    sys.exit(main())
