"""`GroupMember` by another client library, kafka-python."""

from __future__ import annotations

import logging
import threading
from typing import Any

from kafka import ConsumerRebalanceListener, KafkaConsumer
from kafka.errors import KafkaError

from system_tests.workload import GroupMember, number_of


class KafkaPythonMember(GroupMember):
    """The same promises; see there."""

    def __init__(self, bootstrap: str, group: str, topic: str, name: str, **configs: Any) -> None:
        logging.getLogger("kafka").setLevel(logging.CRITICAL)
        self.name = name
        self.topic = topic
        self.log = []
        self.damage = []
        self.commits = 0
        self._stop = threading.Event()
        self._kafka_python = KafkaConsumer(
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
        self._thread = threading.Thread(target=self._run, name=f"consumer {name}", daemon=True)

    def start(self) -> KafkaPythonMember:
        self._kafka_python.subscribe([self.topic], listener=_Listener(self.log))
        self._thread.start()
        return self

    def _run(self) -> None:
        while not self._stop.is_set():
            polled = self._kafka_python.poll(timeout_ms=100)
            for partition, records in polled.items():
                for record in records:
                    self.log.append((partition.partition, record.offset))
                    try:
                        number_of(record.value)
                    except (AssertionError, ValueError) as error:
                        self.damage.append(f"{partition} at {record.offset}: {error}")
            if polled:
                try:
                    self._kafka_python.commit()
                    self.commits += 1
                except KafkaError:  # the group rebalances or the broker is away: the records come again
                    pass
        self._kafka_python.close(autocommit=False)


class _Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    def __init__(self, log: list[tuple[int, int | None]]) -> None:
        self._log = log

    def on_partitions_assigned(self, assigned: Any) -> None:
        self._log += [(partition.partition, None) for partition in assigned]

    def on_partitions_revoked(self, revoked: Any) -> None:
        pass
