"""Plans fetches: which partitions to request from which broker, and from which offset."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from kafkapy.clients.client_metadata import ClientMetadata
from kafkapy.clients.fetch_session import PartitionRequest
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.consumer.config import ConsumerConfig
from kafkapy.consumer.fetch.fetch_buffer import FetchBuffer
from kafkapy.consumer.subscription_state import SubscriptionState, TopicPartitionState


class FetchPlan:
    """Plans fetches by subscriptions, metadata and buffer. No I/O.

    Invariant: `_resting` maps partitions whose last fetch failed to the end of their back-off (monotonic ms).
    """

    def __init__(
        self, metadata: ClientMetadata, subscriptions: SubscriptionState, buffer: FetchBuffer, config: ConsumerConfig
    ) -> None:
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._buffer = buffer
        self._config = config
        self._resting: dict[TopicPartition, float] = {}
        self._noticed = (-1, -1)

    def rest(self, partitions: Iterable[TopicPartition], until_ms: float) -> None:
        self._resting.update(dict.fromkeys(partitions, until_ms))

    def end_rest(self, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._resting.pop(partition, None)

    def notice_new_leaders(self) -> None:
        """Start the validation of positions from before the current leader (KIP-320), including those whose validation
        by the previous leader has not been answered."""
        if self._noticed == (self._metadata.version, self._subscriptions.changes.count):
            return
        for partition, state in self._subscriptions.assignment.items():
            if state.position is not None:
                leader = self._metadata.leader_of(partition)
                if leader is not None and leader.epoch > state.position.leader_epoch:
                    state.await_validation(leader.epoch)
        self._noticed = (self._metadata.version, self._subscriptions.changes.count)

    def wishes(self, busy: Collection[int], now_ms: float) -> dict[int, dict[TopicPartition, PartitionRequest]]:
        """Return the partitions to fetch from each broker that is not `busy`. Requests metadata if a leader is not
        known."""
        if len(busy) >= len(self._metadata.cluster.nodes) > 0 or self._buffer.size >= self._config.fetch_max_bytes:
            return {}
        ahead = self._buffer.ahead()
        full: set[int] = set()
        wishes: dict[int, dict[TopicPartition, PartitionRequest]] = {}
        for partition in self._subscriptions.fetchable_partitions():
            state = self._subscriptions.assignment[partition]
            leader = self._metadata.leader_of(partition)
            if leader is None or leader.leader_id < 0:
                self._metadata.request_update()
                continue
            node_id = self._node_to_read(state, leader.leader_id, now_ms)
            if node_id in busy or node_id in full or self._rests(partition, now_ms):
                continue
            assert state.position is not None
            size, offset = ahead.get(partition, (0, state.position.offset))
            if size > self._config.max_partition_fetch_bytes:
                # Leaving it out would remove it from the fetch session, and delay it until a long poll for the others
                # ends.
                full.add(node_id)
                wishes.pop(node_id, None)
                continue
            wishes.setdefault(node_id, {})[partition] = PartitionRequest(
                offset,
                self._config.max_partition_fetch_bytes,
                leader.epoch,
                self._metadata.topic_id(partition.topic) or ZERO_UUID,
            )
        return wishes

    def _node_to_read(self, state: TopicPartitionState, leader_id: int, now_ms: float) -> int:
        """Return the leader's id, or that of the replica that it recommends (KIP-392)."""
        node_id = state.read_replica(leader_id, now_ms)
        if node_id != leader_id and self._metadata.node(node_id) is None:
            state.prefer_read_replica(-1, 0)
            return leader_id
        return node_id

    def _rests(self, partition: TopicPartition, now_ms: float) -> bool:
        until = self._resting.get(partition)
        if until is None:
            return False
        if now_ms < until:
            return True
        del self._resting[partition]
        return False
