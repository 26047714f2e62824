"""kafka-e2e-latency: measures the time of a record from a producer to a consumer (after Kafka's `EndToEndLatency`)."""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkapy.common.java_text import java_double
from kafkapy.tools.common.client_properties import consumer_arguments, producer_arguments, property_file
from kafkapy.tools.common.client_tool import Progress, client_errors_as_tool_errors, log_to_stderr
from kafkapy.tools.common.command_line import CommandLineError, ToolError, guard, integer, print_version

if TYPE_CHECKING:
    from kafkapy.consumer import KafkaConsumer
    from kafkapy.producer import KafkaProducer

USAGE = "USAGE: kafka-e2e-latency broker_list topic num_messages producer_acks message_size_bytes [optional] properties_file"
_POLL_TIMEOUT_MS = 60_000
_REPORT_EVERY = 1_000


def main(argv: Sequence[str] | None = None) -> int:
    arguments = sys.argv[1:] if argv is None else argv
    if {"-h", "--help"} & set(arguments):
        print(USAGE)
        return 0
    if "--version" in arguments:
        print_version()
        return 0
    return guard(lambda: execute(arguments))


def execute(arguments: Sequence[str]) -> None:
    from kafkapy import KafkaConsumer, KafkaProducer

    if len(arguments) not in (5, 6):
        raise CommandLineError(USAGE)
    brokers, topic, messages, acks, size, *file = arguments
    count, length = _at_least(1, "num_messages", messages), _at_least(0, "message_size_bytes", size)
    if acks not in ("1", "all"):
        raise CommandLineError("Latency testing requires synchronous acknowledgement. Please use 1 or all")
    properties = property_file(file[0] if file and file[0].strip() else None) | {"bootstrap.servers": brokers}
    log_to_stderr()
    consumer_options = consumer_arguments(
        properties
        | {
            "group.id": f"test-group-{int(time.time() * 1000)}",
            "enable.auto.commit": "false",
            "auto.offset.reset": "latest",
        }
    )
    producer_options = producer_arguments(
        properties | {"linger.ms": "0", "max.block.ms": str((1 << 31) - 1), "acks": acks}
    )
    producer_options["bootstrap_timeout_ms"] = consumer_options.get("request_timeout_ms", 30_000)
    with (
        client_errors_as_tool_errors(),
        KafkaConsumer(**consumer_options) as consumer,
        KafkaProducer(**producer_options) as producer,
    ):
        if topic not in consumer.topics():
            create_topic(properties, topic)
        listen(consumer, topic)
        with Progress(count, "msg") as progress:
            latencies = measure(consumer, producer, topic, count, length, progress)
        print_results(latencies)
        consumer.commit()


def _at_least(low: int, name: str, text: str) -> int:
    try:
        number = integer(text)
    except ValueError:
        raise CommandLineError(f'{name} must be a number: "{text}"') from None
    if number < low:
        raise CommandLineError(f"{name} must be at least {low}")
    return number


def create_topic(properties: dict[str, str], topic: str) -> None:
    """Create the topic with one partition and one replica."""
    from kafkapy.admin.client import AdminClient
    from kafkapy.admin.results import values_of
    from kafkapy.admin.topics import NewTopic

    print(f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and replication factor = 1')
    with AdminClient.from_properties(properties) as admin:
        values_of(admin.create_topics([NewTopic(topic, 1, 1)]))


def listen(consumer: KafkaConsumer, topic: str) -> None:
    """Assign all partitions, and seek to their ends."""
    from kafkapy import TopicPartition

    deadline = time.monotonic() + _POLL_TIMEOUT_MS / 1000
    while not (ids := consumer.partitions_for_topic(topic)):
        if time.monotonic() > deadline:
            raise ToolError(f"Topic {topic} has no partitions")
        time.sleep(0.1)
    partitions = [TopicPartition(topic, partition) for partition in sorted(ids)]
    consumer.assign(partitions)
    consumer.seek_to_end(*partitions)
    for partition in partitions:
        consumer.position(partition, timeout_ms=_POLL_TIMEOUT_MS)


def measure(
    consumer: KafkaConsumer, producer: KafkaProducer, topic: str, count: int, length: int, progress: Progress
) -> list[int]:
    """Latencies in ns, from before a record is sent until it has been received."""
    letters = random.Random(0)
    latencies = []
    for i in range(count):
        message = bytes([letters.randrange(26) + 65]) * length
        begin = time.perf_counter_ns()
        producer.send(topic, message).get()
        found = consumer.poll(timeout_ms=_POLL_TIMEOUT_MS)
        elapsed = time.perf_counter_ns() - begin
        _check(message, [record.value for records in found.values() for record in records])
        if i % _REPORT_EVERY == 0:
            progress.print(f"{i}\t{java_double(elapsed / 1000.0 / 1000.0)}")
        latencies.append(elapsed)
        progress.update(1)
    return latencies


def _check(sent: bytes, received: list[bytes]) -> None:
    if not received:
        raise ToolError(f"poll() timed out before finding a result (timeout:[{_POLL_TIMEOUT_MS}])")
    if received[0] != sent:
        read, wrote = received[0].decode("utf-8", "replace"), sent.decode()
        raise ToolError(f"The message read [{read}] did not match the message sent [{wrote}]")
    if len(received) != 1:
        raise ToolError(f"Only one result was expected during this test. We found [{len(received)}]")


def print_results(latencies: list[int]) -> None:
    """Print the average, and percentiles in whole ms."""
    print(f"Avg latency: {sum(latencies) / len(latencies) / 1e6:.4f} ms")
    in_ms = sorted(latency // 1_000_000 for latency in latencies)
    p50, p99, p999 = (in_ms[int(len(in_ms) * fraction)] for fraction in (0.5, 0.99, 0.999))
    print(f"Percentiles: 50th = {p50}, 99th = {p99}, 99.9th = {p999}")


if __name__ == "__main__":
    sys.exit(main())
