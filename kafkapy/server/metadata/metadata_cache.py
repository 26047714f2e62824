"""This broker's view of the cluster: the content of the controller's UpdateMetadata requests (Kafka's `ZkMetadataCache`)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from kafkapy.clients.metadata import Node
from kafkapy.common.leader_and_isr import LEADER_DURING_DELETE
from kafkapy.common.scheduler import ScheduledTask
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import Completion

PartitionState = UpdateMetadataRequest.UpdateMetadataPartitionState


class LiveBroker(NamedTuple):
    id: int
    rack: str | None
    listeners: dict[str, tuple[str, int]]
    """listener name → (host, port)"""


class MetadataCache:
    """Topics, partition states and live brokers.

    Invariant: written on the reactor thread only; waiters are notified after a complete update; `_topics` holds no
    topic without partitions; `_ids` and `_names` are inverse of each other.
    """

    def __init__(self, broker_id: int, clock: Clock) -> None:
        self.broker_id = broker_id
        self._clock = clock
        self._topics: dict[str, dict[int, PartitionState]] = {}
        self._ids: dict[str, bytes] = {}
        self._names: dict[bytes, str] = {}
        self._brokers: dict[int, LiveBroker] = {}
        self._waiting: list[tuple[Callable[[], bool], Completion[bool], ScheduledTask]] = []
        self.controller_id: int | None = None
        self.controller_epoch = 0
        self.answers: dict[Any, Any] = {}
        """Callers' cached values, by their own keys; cleared by each update. The values must not be changed."""

    # ------------------------------------------------------------------------------------------------ update

    def update(self, request: UpdateMetadataRequest) -> list[TopicPartition]:
        """Apply the controller's request; return the partitions that were deleted."""
        self.answers.clear()
        self.controller_id = request.controller_id if request.controller_id >= 0 else None
        self.controller_epoch = request.controller_epoch
        self._brokers = {broker.id: _live_broker(broker) for broker in request.live_brokers}
        deleted: list[TopicPartition] = []
        for topic in request.topic_states:
            if topic.topic_id != ZERO_UUID:
                self._set_topic_id(topic.topic_name, topic.topic_id)
            for state in topic.partition_states:
                self._update_partition(topic.topic_name, state, deleted)
        for state in request.ungrouped_partition_states:
            self._update_partition(state.topic_name, state, deleted)
        self._wake()
        return deleted

    def _set_topic_id(self, topic: str, topic_id: bytes) -> None:
        old = self._ids.get(topic)
        if old is not None and old != topic_id:
            self._names.pop(old, None)
        self._ids[topic] = topic_id
        self._names[topic_id] = topic

    def _update_partition(self, topic: str, state: PartitionState, deleted: list[TopicPartition]) -> None:
        partitions = self._topics.get(topic)
        if state.leader != LEADER_DURING_DELETE:
            if partitions is None:
                self._topics[topic] = partitions = {}
            partitions[state.partition_index] = state
            return
        if partitions is not None and partitions.pop(state.partition_index, None) is not None:
            deleted.append(TopicPartition(topic, state.partition_index))
        if not partitions:
            self._topics.pop(topic, None)
            topic_id = self._ids.pop(topic, None)
            if topic_id is not None:
                self._names.pop(topic_id, None)

    def _wake(self) -> None:
        for entry in list(self._waiting):
            predicate, waiter, timeout = entry
            if predicate():
                self._waiting.remove(entry)
                timeout.cancel()
                waiter.set_result(True)

    def wait_for(self, predicate: Callable[[], bool], timeout_ms: int) -> Awaitable[bool]:
        """Wait until the predicate holds, now or after an update; return False after the time-out."""
        waiter: Completion[bool] = Completion()
        if predicate() or timeout_ms <= 0:
            waiter.set_result(predicate())
            return waiter

        def expired() -> None:
            self._waiting.remove(entry)
            waiter.set_result(False)

        entry = (predicate, waiter, self._clock.later(timeout_ms, expired))
        self._waiting.append(entry)
        return waiter

    # ------------------------------------------------------------------------------------------------ topics

    def all_topics(self) -> set[str]:
        return set(self._topics)

    def contains_topic(self, topic: str) -> bool:
        return topic in self._topics

    def contains(self, topic: str, partition: int) -> bool:
        partitions = self._topics.get(topic)
        return partitions is not None and partition in partitions

    def topic_id(self, topic: str) -> bytes:
        return self._ids.get(topic, ZERO_UUID)

    def topic_name(self, topic_id: bytes) -> str | None:
        return self._names.get(topic_id)

    def num_partitions(self, topic: str) -> int | None:
        partitions = self._topics.get(topic)
        return None if partitions is None else len(partitions)

    def partitions(self, topic: str) -> Iterable[PartitionState]:
        """Return the states in order of partition number."""
        partitions = self._topics.get(topic, {})
        return [partitions[index] for index in sorted(partitions)]

    def partition_state(self, topic: str, partition: int) -> PartitionState | None:
        partitions = self._topics.get(topic)
        return None if partitions is None else partitions.get(partition)

    def all_partitions(self) -> list[TopicPartition]:
        return [TopicPartition(topic, index) for topic, partitions in self._topics.items() for index in partitions]

    # ------------------------------------------------------------------------------------------------ brokers

    def alive_broker_ids(self) -> set[int]:
        return set(self._brokers)

    def has_alive_broker(self, broker_id: int) -> bool:
        return broker_id in self._brokers

    def alive_brokers(self) -> list[LiveBroker]:
        return list(self._brokers.values())

    def alive_broker(self, broker_id: int, listener_name: str) -> Node | None:
        """Return the broker's address on that listener; None if it is not alive or has no such listener."""
        broker = self._brokers.get(broker_id)
        if broker is None:
            return None
        address = broker.listeners.get(listener_name)
        return None if address is None else Node(broker_id, address[0], address[1], broker.rack)

    def alive_nodes(self, listener_name: str) -> list[Node]:
        nodes = (self.alive_broker(broker_id, listener_name) for broker_id in self._brokers)
        return [node for node in nodes if node is not None]


def _live_broker(broker: UpdateMetadataRequest.UpdateMetadataBroker) -> LiveBroker:
    if broker.endpoints:
        listeners = {endpoint.listener or "PLAINTEXT": (endpoint.host, endpoint.port) for endpoint in broker.endpoints}
    else:
        listeners = {"PLAINTEXT": (broker.v0_host, broker.v0_port)}
    return LiveBroker(broker.id, broker.rack or None, listeners)
