"""kafka-verifiable-producer: writes increasing numbers and prints for each whether it was acknowledged (after Kafka's
`VerifiableProducer`)."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from kafkapy.protocol.errors import KafkaError
from kafkapy.tools.common.argument_parser import ArgumentParser, run
from kafkapy.tools.common.client_properties import producer_arguments, property_file
from kafkapy.tools.common.client_tool import (
    Interruption,
    ThroughputThrottler,
    check_host_port,
    client_errors_as_tool_errors,
    java_exception,
    java_message,
    log_to_stderr,
)
from kafkapy.tools.verifiable.json_events import print_event

if TYPE_CHECKING:
    from kafkapy.producer import KafkaProducer, RecordMetadata


def parser() -> ArgumentParser:
    parser = ArgumentParser(
        "verifiable-producer",
        "This tool produces increasing integers to the specified topic and prints JSON metadata to stdout on each "
        '"send" request, making externally visible which messages have been acked and which have not.',
    )
    add = parser.add_argument
    add("--topic", required=True, metavar="TOPIC", help="the topic to write to")
    parser.add_servers()
    add("--max-messages", type=int, default=-1, metavar="MAX-MESSAGES", help="how many; -1: until it is killed")
    add("--throughput", type=int, default=-1, metavar="THROUGHPUT", help="records a second, about; below 0: no limit")
    add("--acks", type=int, default=-1, choices=(0, 1, -1), metavar="ACKS", help="acks required of each record")
    add("--producer.config", dest="producer_config", metavar="CONFIG_FILE", help="a property file with configs")
    add("--message-create-time", type=int, default=-1, metavar="CREATETIME", help="the first record's time, ms")
    add("--value-prefix", type=int, metavar="VALUE-PREFIX", help="values are this, a dot and the number")
    add("--repeating-keys", type=int, metavar="REPEATING-KEYS", help="keys go from 0 to below this, again and again")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    return run(parser(), execute, argv)


def execute(options: argparse.Namespace) -> int:
    from kafkapy import KafkaProducer

    check_host_port(options.servers)
    properties = {"bootstrap.servers": options.servers, "acks": str(options.acks), "retries": "0"}
    arguments = producer_arguments(properties | property_file(options.producer_config))
    log_to_stderr()
    with client_errors_as_tool_errors():
        producer = KafkaProducer(**arguments)
    with Interruption() as interruption:
        test = VerifiableProducer(options, producer)
        try:
            test.run(interruption)
        finally:
            test.close()
    return interruption.status


class VerifiableProducer:
    """One run; `acked` is counted on the producer's thread."""

    def __init__(self, options: argparse.Namespace, producer: KafkaProducer) -> None:
        self._topic: str = options.topic
        self._producer = producer
        self._max = options.max_messages
        self._throughput: int = options.throughput
        self._prefix = "" if options.value_prefix is None else f"{options.value_prefix}."
        self._keys = _keys(options.repeating_keys)
        self._create_time: int | None = None if options.message_create_time == -1 else options.message_create_time
        self._start_ms = int(time.time() * 1000)
        self._throttler = ThroughputThrottler(self._throughput)
        self.sent = 0
        self.acked = 0

    def run(self, interruption: Interruption) -> None:
        print_event("startup_complete")
        numbers = itertools.count() if self._max < 0 else range(self._max)
        for number in numbers:
            if interruption:
                return
            begin = time.time()
            self._send(next(self._keys), f"{self._prefix}{number}")
            self._throttler.throttle(number, begin)

    def _send(self, key: str | None, value: str) -> None:
        time_ms = self._next_time()
        self.sent += 1
        try:
            future = self._producer.send(
                self._topic, value.encode(), None if key is None else key.encode(), timestamp_ms=time_ms
            )
        except KafkaError as error:
            self._failed(key, value, error)
        else:
            future.add_callback(partial(self._acknowledged, key, value))
            future.add_errback(partial(self._failed, key, value))

    def _next_time(self) -> int | None:
        """The timestamp of a record; None: now. Otherwise each record adds the whole time since the start, as in
        Kafka's tool."""
        now = self._create_time
        if now is not None:
            self._create_time = now + int(time.time() * 1000) - self._start_ms
        return now

    def _acknowledged(self, key: str | None, value: str, metadata: RecordMetadata) -> None:
        self.acked += 1
        print_event(
            "producer_send_success",
            key=key,
            value=value,
            offset=metadata.offset,
            topic=metadata.topic,
            partition=metadata.partition,
        )

    def _failed(self, key: str | None, value: str, error: Any) -> None:
        print_event(
            "producer_send_error",
            topic=self._topic,
            key=key,
            value=value,
            exception=f"class {java_exception(error)}",
            message=java_message(error),
        )

    def close(self) -> None:
        """Wait for the deliveries, then print the totals."""
        self._producer.close()
        print_event("shutdown_complete")
        elapsed_ms = max(1, int(time.time() * 1000) - self._start_ms)
        print_event(
            "tool_data",
            sent=self.sent,
            acked=self.acked,
            target_throughput=self._throughput,
            avg_throughput=1000 * self.acked / elapsed_ms,
        )


def _keys(limit: int | None) -> Iterator[str | None]:
    if limit is None:
        return itertools.repeat(None)
    if limit < 1:
        return map(str, itertools.count())
    return map(str, itertools.cycle(range(limit)))


if __name__ == "__main__":
    sys.exit(main())
