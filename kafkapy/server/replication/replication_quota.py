"""Throttles of replication traffic (KIP-73; Kafka's `ReplicationQuotaManager`)."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.common.limits import MAX_LONG
from kafkapy.common.rate import SimpleRate
from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition

ALL_REPLICAS = "*"


class ReplicationQuota:
    """The throttle of one direction: its rate, and the partitions it applies to."""

    def __init__(self, time: Time, num_windows: int = 11, window_seconds: int = 1) -> None:
        self.limit = MAX_LONG
        """Bytes a second."""
        self._time = time
        self._rate = SimpleRate(num_windows, window_seconds * 1000)
        self._throttled: dict[str, frozenset[int] | None] = {}

    @property
    def is_idle(self) -> bool:
        """Return whether nothing is throttled."""
        return not self._throttled

    def mark(self, topic: str, partitions: frozenset[int] | None) -> None:
        """Throttle these partitions of a topic; None: all of them."""
        if partitions is None or partitions:
            self._throttled[topic] = partitions
        else:
            self._throttled.pop(topic, None)

    def mark_from_config(self, topic: str, value: str, broker_id: int) -> None:
        """Apply `*.replication.throttled.replicas`: "*", or pairs of partition and replica: "0:1,2:1"."""
        pairs = [pair.strip() for pair in value.split(",") if pair.strip()]
        if ALL_REPLICAS in pairs:
            self.mark(topic, None)
            return
        split = (pair.split(":") for pair in pairs)
        self.mark(topic, frozenset(int(partition) for partition, replica in split if int(replica) == broker_id))

    def is_throttled(self, partition: TopicPartition) -> bool:
        if not self._throttled or partition.topic not in self._throttled:
            return False
        partitions = self._throttled[partition.topic]
        return partitions is None or partition.partition in partitions

    def record(self, size: int) -> None:
        self._rate.record(size, self._time.monotonic_ms())

    def is_exceeded(self) -> bool:
        return self.limit != MAX_LONG and self.rate() > self.limit

    def rate(self) -> float:
        """Bytes a second."""
        return self._rate.per_second(self._time.monotonic_ms())


class ReplicationThrottles:
    """Throttles of both directions, set by topic and broker configs, and of moves between log dirs, for all partitions."""

    LEADER_REPLICAS = "leader.replication.throttled.replicas"
    FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
    LEADER_RATE = "leader.replication.throttled.rate"
    FOLLOWER_RATE = "follower.replication.throttled.rate"
    ALTER_LOG_DIRS_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"

    def __init__(self, leader: ReplicationQuota, follower: ReplicationQuota, alter_log_dirs: ReplicationQuota) -> None:
        self.leader = leader
        self.follower = follower
        self.alter_log_dirs = alter_log_dirs

    def update_topic(self, topic: str, configs: Mapping[str, str], broker_id: int) -> None:
        """`configs`: the topic's own."""
        self.leader.mark_from_config(topic, configs.get(self.LEADER_REPLICAS, ""), broker_id)
        self.follower.mark_from_config(topic, configs.get(self.FOLLOWER_REPLICAS, ""), broker_id)

    def update_rates(self, broker_configs: Mapping[str, str], default_configs: Mapping[str, str]) -> None:
        """Set the rates from the dynamic configs of this broker and the cluster defaults."""
        for quota, name in (
            (self.leader, self.LEADER_RATE),
            (self.follower, self.FOLLOWER_RATE),
            (self.alter_log_dirs, self.ALTER_LOG_DIRS_RATE),
        ):
            quota.limit = int(broker_configs.get(name, default_configs.get(name, MAX_LONG)))
