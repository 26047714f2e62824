"""A consumer's health, for readiness probes and dashboards."""

from __future__ import annotations

from typing import Any, NamedTuple

from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.fetch.pending_records import PendingRecords
from kafkapy.consumer.subscription_state import SubscriptionState
from kafkapy.group_member.group_member import GroupMember


class PartitionLag(NamedTuple):
    """The lag in one partition. `records` None: the end is not known yet. `seconds`: age of the last record that the
    user got, 0 if there is nothing left to read, None before the first record."""

    position: int | None
    end: int | None
    records: int | None
    seconds: float | None


class ConsumerHealth(NamedTuple):
    """`assigned`: whether there are partitions. `lag` is the sum, `lag_seconds` the maximum, over those that are
    known.
    `last_poll_seconds`: since the last poll. `group_state`: unjoined, joining, syncing, stable, leaving; None without a
    group. `coordinator`: its broker id. `last_heartbeat_seconds`: since the last heartbeat response."""

    assigned: bool
    lag: int | None
    lag_seconds: float | None
    last_poll_seconds: float
    group_state: str | None
    coordinator: int | None
    last_heartbeat_seconds: float | None
    partitions: dict[TopicPartition, PartitionLag]
    topics: dict[str, str]
    """Topics that can't be read, and why: missing, or not authorized."""

    def as_dict(self) -> dict[str, Any]:
        """Return the health as a JSON-compatible dict; partitions by topic and number."""
        partitions: dict[str, dict[str, Any]] = {}
        for partition, lag in sorted(self.partitions.items()):
            partitions.setdefault(partition.topic, {})[str(partition.partition)] = lag._asdict()
        return {**self._asdict(), "partitions": partitions}


def health_of(
    time: Time,
    subscriptions: SubscriptionState,
    pending: PendingRecords,
    member: GroupMember | None,
    last_poll_ms: float,
    read_committed: bool,
    topics: dict[str, str],
) -> ConsumerHealth:
    """Collect a consumer's health. `member` None: it has no group. `topics`: those that can't be read, and why."""
    now = time.monotonic_ms()
    lags = {p: _lag_of(time, subscriptions, pending, p, read_committed) for p in subscriptions.assignment}
    records = [lag.records for lag in lags.values() if lag.records is not None]
    seconds = [lag.seconds for lag in lags.values() if lag.seconds is not None]
    beat = None if member is None else member.heartbeats.last_ms
    return ConsumerHealth(
        assigned=bool(lags),
        lag=sum(records) if records else None,
        lag_seconds=max(seconds) if seconds else None,
        last_poll_seconds=(now - last_poll_ms) / 1000,
        group_state=None if member is None else member.membership.state.value,
        coordinator=None if member is None else member.lookup.node_id,
        last_heartbeat_seconds=None if beat is None else (now - beat) / 1000,
        partitions=lags,
        topics=topics,
    )


def _lag_of(
    time: Time,
    subscriptions: SubscriptionState,
    pending: PendingRecords,
    partition: TopicPartition,
    read_committed: bool,
) -> PartitionLag:
    state = subscriptions.state(partition)
    position = pending.positions().get(partition, state.position)
    end = state.last_stable_offset if read_committed else state.high_watermark
    if position is None or end is None:
        return PartitionLag(None if position is None else position.offset, end, None, None)
    records = max(0, end - position.offset)
    timestamp = pending.last_timestamps.get(partition)
    seconds: float | None = 0.0
    if records:
        seconds = None if timestamp is None else max(0.0, (time.milliseconds() - timestamp) / 1000)
    return PartitionLag(position.offset, end, records, seconds)
