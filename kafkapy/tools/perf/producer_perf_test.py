"""kafka-producer-perf-test: measures the throughput of a producer (after Kafka's `ProducerPerformance`).

Records are passed to the producer in runs of about a batch (`send_many`). The latency of a record lasts from before
its run is passed to the producer until the run is acknowledged: never less than the record's own, and more by at most
the time of passing one run.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from kafkapy.tools.common.argument_parser import ArgumentParser, run
from kafkapy.tools.common.client_properties import producer_arguments, property_file
from kafkapy.tools.common.client_tool import (
    Interruption,
    Progress,
    ThroughputThrottler,
    client_errors_as_tool_errors,
    java_error,
    log_to_stderr,
    print_metrics,
)
from kafkapy.tools.common.command_line import CommandLineError, ToolError, refuse
from kafkapy.tools.perf.producer_perf_stats import Stats

if TYPE_CHECKING:
    from kafkapy.producer import KafkaProducer

_DEFAULT_BATCH_SIZE = 16_384
_RECORD_OVERHEAD = 12
_MAX_RUN = 1_000
_SPLIT_SECONDS = 600.0
"""A delimiter that leaves a file of payloads in one piece."""
_LETTERS = bytes(65 + i % 26 for i in range(256))

Payloads = Callable[[int, int], list[bytes]]
"""The values of `count` records, from record number `first` on."""


def parser() -> ArgumentParser:
    parser = ArgumentParser("producer-performance", "This tool is used to verify the producer performance.")
    add = parser.add_argument
    payload = parser.add_mutually_exclusive_group(required=True)
    payload.add_argument("--record-size", type=int, help="the size of records in bytes; each has random letters")
    payload.add_argument("--payload-file", help="a UTF-8 text file of payloads, from which they are chosen at random")
    payload.add_argument("--payload-monotonic", action="store_true", help="payloads are 0, 1, 2 and so on")
    add("--topic", required=True, help="the topic to write to")
    add("--num-records", type=int, required=True, help="how many records to write")
    add("--payload-delimiter", default="\\n", help="what separates payloads in the file; a regular expression")
    add("--throughput", type=float, required=True, help="records a second, about; -1: as many as possible")
    add(
        "--producer-props",
        nargs="+",
        metavar="PROP-NAME=PROP-VALUE",
        help="configs of the producer, as bootstrap.servers or client.id; they go before --producer.config",
    )
    add("--producer.config", dest="producer_config", metavar="CONFIG-FILE", help="a property file with configs")
    add("--print-metrics", action="store_true", help="print the producer's metrics at the end")
    add("--transactional-id", default="performance-producer-default-transactional-id", help="for transactions")
    add(
        "--transaction-duration-ms",
        type=int,
        default=0,
        help="how old a transaction becomes before it is committed; there are transactions if this is above 0",
    )
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    return run(parser(), execute, argv)


def execute(options: argparse.Namespace) -> int:
    from kafkapy import KafkaProducer

    if options.producer_props is None and options.producer_config is None:
        raise CommandLineError("Either --producer-props or --producer.config must be specified.")
    if options.num_records < 1:
        raise CommandLineError("--num-records must be at least 1")
    properties = producer_properties(options)
    arguments = producer_arguments(properties)
    payloads, size = _payloads(options)
    batch = arguments.get("batch_size", _DEFAULT_BATCH_SIZE)
    log_to_stderr()
    with client_errors_as_tool_errors():
        producer = KafkaProducer(**arguments)
    run_length = records_in_a_run(batch, size, options.throughput)
    with Interruption() as interruption, producer, Progress(options.num_records, "rec") as progress:
        test = ProducerPerfTest(options, producer, payloads, progress)
        test.send_all(run_length, interruption)
        producer.flush()
    print(test.stats.total_line())
    if options.print_metrics:
        print_metrics(producer.metrics(), properties["client.id"])
    return interruption.status


def producer_properties(options: argparse.Namespace) -> dict[str, str]:
    properties = property_file(options.producer_config)
    for prop in options.producer_props or ():
        name, equals, value = prop.partition("=")
        if not equals or not value or "=" in value:
            raise CommandLineError(f"Invalid property: {prop}")
        properties[name] = value
    if options.transaction_duration_ms > 0:
        properties["transactional.id"] = options.transactional_id
    properties.setdefault("client.id", "perf-producer-client")
    return properties


def records_in_a_run(batch_size: int, record_size: int, throughput: float) -> int:
    """The size of a run: the records of a batch, or fewer if the throughput allows fewer per millisecond."""
    count = max(1, min(_MAX_RUN, batch_size // (record_size + _RECORD_OVERHEAD)))
    return count if throughput < 0 else max(1, min(count, int(throughput / 1000)))


def _payloads(options: argparse.Namespace) -> tuple[Payloads, int]:
    """The source of payloads, and their approximate size."""
    if options.payload_file is not None:
        payloads = read_payloads(options.payload_file, options.payload_delimiter)
        choose = random.Random(0).choices
        return lambda first, count: choose(payloads, k=count), sum(map(len, payloads)) // len(payloads)
    if options.payload_monotonic:
        return lambda first, count: [b"%d" % i for i in range(first, first + count)], len(str(options.num_records))
    if options.record_size < 0:
        raise CommandLineError("--record-size must be at least 0")
    return partial(_random_letters, random.Random(0), options.record_size), options.record_size


def _random_letters(source: random.Random, size: int, first: int, count: int) -> list[bytes]:
    letters = source.randbytes(size * count).translate(_LETTERS)
    return [letters[start : start + size] for start in range(0, size * count, size)] if size else [b""] * count


def read_payloads(file: str, delimiter: str) -> list[bytes]:
    """The payloads of a file. Raises ToolError for a missing or empty file, and for an invalid delimiter."""
    from kafkapy.common.patterns import PatternError, java

    path = Path(file)
    print(f"Reading payloads from: {path.absolute()}")
    if not path.exists() or path.stat().st_size == 0:
        refuse("File does not exist or empty file provided.")
    text = path.read_bytes().decode("utf-8", "replace")
    try:
        pieces = java(delimiter).split(text, _SPLIT_SECONDS)
    except PatternError as error:
        raise ToolError(f"--payload-delimiter is an invalid regex: {error}") from error
    while pieces and not pieces[-1]:  # as Java's split
        pieces.pop()
    if not pieces:
        refuse(f"There is no payload in {file}")
    print(f"Number of messages read: {len(pieces)}")
    return [piece.encode() for piece in pieces]


class ProducerPerfTest:
    """One run of the tool."""

    def __init__(
        self, options: argparse.Namespace, producer: KafkaProducer, payloads: Payloads, progress: Progress
    ) -> None:
        self.stats = Stats(progress.print)
        self._topic = options.topic
        self._count = options.num_records
        self._duration_s = options.transaction_duration_ms / 1000
        self._producer = producer
        self._payloads = payloads
        self._progress = progress
        self._throttler = ThroughputThrottler(options.throughput)

    def send_all(self, run_length: int, interruption: Interruption) -> None:
        if self._duration_s > 0:
            self._producer.init_transactions()
            self._send_in_transactions(run_length, interruption)
            return
        for first, count in _runs(self._count, run_length):
            if interruption:
                return
            self._send(first, count)

    def _send_in_transactions(self, run_length: int, interruption: Interruption) -> None:
        begun: float | None = None
        for first, count in _runs(self._count, run_length):
            if interruption:
                break
            if begun is None:
                self._producer.begin_transaction()
                begun = time.time()
            self._send(first, count)
            if time.time() - begun >= self._duration_s:
                self._producer.commit_transaction()
                begun = None
        if begun is not None:
            self._producer.commit_transaction()

    def _send(self, first: int, count: int) -> None:
        from kafkapy.protocol.errors import KafkaError

        values = self._payloads(first, count)
        begin = time.time()
        try:
            future = self._producer.send_many(self._topic, values)
        except KafkaError as error:
            self._failed(count, error)
        else:
            future.add_callback(lambda _: self._acknowledged(begin, count, sum(map(len, values))))
            future.add_errback(partial(self._failed, count))
        self._throttler.throttle(first + count, time.time(), count)

    def _acknowledged(self, begin: float, count: int, size: int) -> None:
        self.stats.record(int((time.time() - begin) * 1000), count, size)
        self._progress.update(count)

    def _failed(self, count: int, error: BaseException) -> None:
        print(f"{count} records failed: {java_error(error)}", file=sys.stderr)


def _runs(total: int, length: int) -> Iterator[tuple[int, int]]:
    """Number of the first record, and how many follow."""
    for first in range(0, total, length):
        yield first, min(length, total - first)


if __name__ == "__main__":
    sys.exit(main())
