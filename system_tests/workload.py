"""Producers and a group of consumers at work, while somebody does harm; the checker judges what they have seen."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from kafkapy import KafkaConsumer, TopicPartition
from system_tests.checker import Verdict, check
from system_tests.clients import create_topic, number_of, read_topic
from system_tests.history import History, Partition
from system_tests.recording_clients import IMPATIENT, RecordingConsumer, RecordingProducer
from system_tests.services import wait_until

PRODUCERS: tuple[dict[str, Any], ...] = (
    {},
    {"bulk": True},
    {"compression_type": "lz4", "linger_ms": 20},
    {"bulk": True, "compression_type": "zstd"},
)
"""How producers differ; all of them are idempotent with acks=all."""
CONSUMERS: tuple[dict[str, Any], ...] = (
    {},
    {"commits": "manual"},
    {"max_poll_records": 50},
    {"commits": "manual", "enable_incremental_fetch_sessions": False},
)


class Workload:
    """Topics, `producers` that share the writing and one group of `consumers` that reads all. By default the topics are
    `NAME-many` of three partitions and `NAME-one` of one."""

    def __init__(
        self,
        bootstrap: str,
        name: str = "work",
        producers: int = 2,
        consumers: int = 2,
        replication: int = 1,
        records_per_second: int = 300,
        topics: Mapping[str, int] | None = None,
        topic_configs: Mapping[str, object] | None = None,
        kinds: tuple[type[RecordingProducer], type[RecordingConsumer]] = (RecordingProducer, RecordingConsumer),
        **client_options: Any,
    ) -> None:
        """`bootstrap` is that of the clients; `records_per_second` each producer's; `topics` have so many partitions, and
        are created if they aren't there; `kinds`: what producers and consumers are; `client_options` go to all clients."""
        self.bootstrap = bootstrap
        self.history = History()
        self.partitions = dict(topics or {f"{name}-many": 3, f"{name}-one": 1})
        for topic, partitions in self.partitions.items():
            create_topic(bootstrap, topic, partitions, topic_configs, replication=replication, seconds=60)
        written = itertools.cycle(self.partitions.items())
        producer_kind, self._consumer_kind = kinds
        self.producers = [
            producer_kind(
                self.history,
                f"producer-{number}",
                bootstrap,
                *next(written),
                records_per_second,
                **{**PRODUCERS[number % len(PRODUCERS)], **client_options},
            )
            for number in range(producers)
        ]
        self._group = f"{name}-group"
        self._client_options = client_options
        self._joined = 0
        self._left: list[RecordingConsumer] = []
        self.consumers = [self._new_consumer() for _ in range(consumers)]

    def _new_consumer(self) -> RecordingConsumer:
        number = self._joined
        self._joined += 1
        options = {**CONSUMERS[number % len(CONSUMERS)], **self._client_options}
        topics = list(self.partitions)
        return self._consumer_kind(self.history, f"consumer-{number}", self.bootstrap, topics, self._group, **options)

    @property
    def acknowledged(self) -> int:
        return sum(producer.acknowledged for producer in self.producers)

    @property
    def polled(self) -> int:
        return sum(consumer.polled for consumer in (*self._left, *self.consumers))

    def start(self, seconds: float = 60) -> Workload:
        """Returns when all clients have made their first progress."""
        for client in (*self.producers, *self.consumers):
            client.start()
        self.wait_for_progress(100, seconds)
        return self

    def wait_for_progress(self, more: int = 100, seconds: float = 60) -> float:
        """Wait until each producer has `more` records acknowledged than now, and the group has polled as many of them;
        returns the seconds that took. `ServiceError` if it takes too long, or a client has died."""
        goals = [producer.acknowledged + more for producer in self.producers]
        polled = self.polled + more

        def reached() -> bool:
            dead = [client.name for client in (*self.producers, *self.consumers) if not client.is_alive]
            assert not dead, f"{dead} have ended: {check(self.history)}"
            return self.polled >= polled and all(
                producer.acknowledged >= goal for producer, goal in zip(self.producers, goals, strict=True)
            )

        def what() -> str:
            acknowledged = [producer.acknowledged for producer in self.producers]
            return f"acknowledged {acknowledged} (wanted {goals}), polled {self.polled} (wanted {polled})"

        return wait_until(reached, seconds, what)

    def wait_until_settled(self, seconds: float = 60) -> float:
        """Wait until the members of the group have all partitions between them, and all are stable."""

        def settled() -> bool:
            owned = [partition for member in self.consumers for partition in member.owned]
            return all(member.state == "stable" for member in self.consumers) and len(owned) == len(set(owned)) == sum(
                self.partitions.values()
            )

        def what() -> str:
            members = ", ".join(f"{m.name} is {m.state} with {len(m.owned)} partitions" for m in self.consumers)
            return f"the group is settled ({members})"

        return wait_until(settled, seconds, what)

    def replace_consumer(self) -> None:
        """The member that has been there longest leaves the group, another comes."""
        leaving = self.consumers.pop(0)
        leaving.stop()
        self._left.append(leaving)
        self.consumers.append(self._new_consumer())
        self.consumers[-1].start()

    def abandon(self) -> None:
        """End all clients soon, whatever state they are in."""
        for client in (*self.producers, *self.consumers):
            client.abandon()

    def finish(self, bootstrap: str | None = None, seconds: float = 120, allowed: Collection[str] = ()) -> Verdict:
        """Let the producers end, the group read what is left, and everything be read again from the beginning, by
        librdkafka too.

        `bootstrap`: where to read from (default: where the clients did). `allowed`: names of anomalies that are none here.
        """
        bootstrap = bootstrap or self.bootstrap
        for producer in self.producers:
            producer.ask_to_stop()
        for producer in self.producers:
            producer.stop(seconds)
        ends = self._read_all(bootstrap)
        wait_until(lambda: self._group_has_read(ends), seconds, lambda: f"the group has read {ends} ({self._told()})")
        for consumer in self.consumers:
            consumer.stop()
        for topic, partitions in self.partitions.items():
            for number, records in enumerate(read_topic(bootstrap, topic, partitions)):
                place = (topic, number)
                self.history.poll("librdkafka", [(place, record.offset, record.number) for record in records])
        return check(self.history, allowed)

    def judge(self, directory: Path, **options: Any) -> Verdict:
        """`finish`, keep the history in `directory`, and raise AssertionError if it has an anomaly."""
        verdict = self.finish(**options)
        self.history.save(directory / "history.jsonl")
        verdict.require_valid()
        return verdict

    def _read_all(self, bootstrap: str) -> dict[Partition, int]:
        """Read everything once, without a group; returns the ends."""
        partitions = [TopicPartition(topic, n) for topic, count in self.partitions.items() for n in range(count)]
        options = {**IMPATIENT, "bootstrap_servers": bootstrap, "auto_offset_reset": "earliest"}
        with KafkaConsumer(group_id=None, **options) as consumer:
            consumer.assign(partitions)
            ends = consumer.end_offsets(partitions, timeout_ms=60_000)

            def read_on() -> bool:
                for partition, records in consumer.poll(timeout_ms=200, max_records=10_000).items():
                    place = (partition.topic, partition.partition)
                    read = [(place, record.offset, number_of(record.value)) for record in records]
                    self.history.poll("reader", read)
                return all(consumer.position(partition) == end for partition, end in ends.items())

            wait_until(read_on, 60, "the reader comes to the end")
        return {(partition.topic, partition.partition): end for partition, end in ends.items()}

    def _told(self) -> str:
        return "; ".join(f"{member.name} is {member.state}, {member.told}" for member in self.consumers)

    def _group_has_read(self, ends: dict[Partition, int]) -> bool:
        read = dict.fromkeys(ends, 0)
        for consumer in (*self._left, *self.consumers):
            for partition, offset in consumer.positions.items():
                read[partition] = max(read[partition], offset)
        return read == ends
