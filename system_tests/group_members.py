"""Members of consumer groups, by two client libraries, that know what they have polled."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from typing import Any

from confluent_kafka import Consumer, KafkaException, TopicPartition
from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.errors import KafkaError

from system_tests.clients import number_of
from system_tests.services import TIME_LIMIT_FACTOR


class GroupMember:
    """A consumer on a thread of its own: records what it polls, then commits it.

    Invariant: `log` has, in order, (partition, offset) of every record polled and (partition, None) of every partition
    assigned; what is committed was in `log` before.
    """

    def __init__(self, topic: str, name: str) -> None:
        self.name = name
        self.topic = topic
        self.log: list[tuple[int, int | None]] = []
        self.damage: list[str] = []
        self.commits = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"consumer {name}", daemon=True)

    def start(self) -> GroupMember:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Leave the group."""
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(TIME_LIMIT_FACTOR * 60)
        assert not self._thread.is_alive(), f"{self.name} does not stop"

    @property
    def polled(self) -> int:
        return len(self.log)

    def _subscribe(self) -> None:
        raise NotImplementedError

    def _poll(self) -> Iterable[tuple[int, int, bytes | None]]:
        """What one poll brings: (partition, offset, value)."""
        raise NotImplementedError

    def _commit(self) -> bool:
        """Commit the position; False if the group rebalances or the broker is away: the records come again then."""
        raise NotImplementedError

    def _close(self) -> None:
        raise NotImplementedError

    def _assigned(self, partitions: Iterable[int]) -> None:
        self.log += [(partition, None) for partition in partitions]

    def _run(self) -> None:
        self._subscribe()
        while not self._stop.is_set():
            before = len(self.log)
            for partition, offset, value in self._poll():
                self.log.append((partition, offset))
                try:
                    number_of(value)
                except (AssertionError, ValueError) as error:
                    self.damage.append(f"{self.topic}-{partition} at {offset}: {error}")
            if len(self.log) > before and self._commit():
                self.commits += 1
        self._close()


class LibrdkafkaMember(GroupMember):
    """By confluent-kafka; `configs` are librdkafka's with `_` for `.`"""

    def __init__(self, bootstrap: str, group: str, topic: str, name: str, **configs: object) -> None:
        super().__init__(topic, name)
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "client.id": name,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": "false",
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 500,
                "check.crcs": "true",
                "reconnect.backoff.max.ms": 500,
                "log_level": 0,
                **{key.replace("_", "."): value for key, value in configs.items()},
            }
        )

    def _subscribe(self) -> None:
        def assigned(_: Consumer, partitions: list[TopicPartition]) -> None:
            self._assigned(partition.partition for partition in partitions)

        self._consumer.subscribe([self.topic], on_assign=assigned)

    def _poll(self) -> Iterable[tuple[int, int, bytes | None]]:
        for message in self._consumer.consume(1000, timeout=0.1):
            partition, offset = message.partition(), message.offset()
            if message.error() is None and partition is not None and offset is not None:
                yield partition, offset, message.value()

    def _commit(self) -> bool:
        try:
            self._consumer.commit(asynchronous=False)
        except KafkaException:
            return False
        return True

    def _close(self) -> None:
        self._consumer.close()


class KafkaPythonMember(GroupMember):
    """By kafka-python; `configs` are its own."""

    def __init__(self, bootstrap: str, group: str, topic: str, name: str, **configs: Any) -> None:
        super().__init__(topic, name)
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        self._consumer = KafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            client_id=name,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=6000,
            heartbeat_interval_ms=500,
            reconnect_backoff_max_ms=500,
            **configs,
        )

    def _subscribe(self) -> None:
        member = self

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_assigned(self, assigned: Any) -> None:
                member._assigned(partition.partition for partition in assigned)

            def on_partitions_revoked(self, revoked: Any) -> None:
                pass

        self._consumer.subscribe([self.topic], listener=Listener())

    def _poll(self) -> Iterable[tuple[int, int, bytes | None]]:
        for partition, records in self._consumer.poll(timeout_ms=100).items():
            for record in records:
                yield partition.partition, record.offset, record.value

    def _commit(self) -> bool:
        try:
            self._consumer.commit()
        except KafkaError:
            return False
        return True

    def _close(self) -> None:
        self._consumer.close(autocommit=False)
