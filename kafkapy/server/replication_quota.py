"""Throttles of replication traffic (KIP-73; Kafka's `ReplicationQuotaManager`)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from kafkapy.common.time import Time
from kafkapy.common.topic_partition import TopicPartition

UNLIMITED = (1 << 63) - 1
ALL_REPLICAS = "*"


class ReplicationQuota:
    """The rate of one direction, and the partitions it counts for.

    Invariant: `_samples` are (start in ms, bytes), each of one window, the oldest first, none older than all windows together;
    `_total` is their sum.
    """

    def __init__(self, time: Time, num_windows: int = 11, window_seconds: int = 1) -> None:
        self.limit = UNLIMITED
        """Bytes a second."""
        self._time = time
        self._num_windows = num_windows
        self._window_ms = window_seconds * 1000
        self._throttled: dict[str, frozenset[int] | None] = {}
        self._samples: deque[tuple[int, int]] = deque()
        self._total = 0

    @property
    def is_idle(self) -> bool:
        """Is nothing throttled?"""
        return not self._throttled

    def mark(self, topic: str, partitions: frozenset[int] | None) -> None:
        """Throttle these partitions of a topic; None: all of them."""
        if partitions is None or partitions:
            self._throttled[topic] = partitions
        else:
            self._throttled.pop(topic, None)

    def mark_from_config(self, topic: str, value: str, broker_id: int) -> None:
        """From `*.replication.throttled.replicas`: "*", or pairs of partition and replica: "0:1,2:1"."""
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
        now = self._time.monotonic_ms()
        self._expire(now)
        if self._samples and now - self._samples[-1][0] < self._window_ms:
            start, before = self._samples[-1]
            self._samples[-1] = (start, before + size)
        else:
            self._samples.append((now, size))
        self._total += size

    def is_exceeded(self) -> bool:
        return self.limit != UNLIMITED and self.rate() > self.limit

    def rate(self) -> float:
        """Bytes a second, over the windows that have passed (as Kafka's `Rate`: all but one at least)."""
        now = self._time.monotonic_ms()
        self._expire(now)
        if not self._samples:
            return 0.0
        elapsed = now - self._samples[0][0]
        windows = elapsed // self._window_ms
        if windows < self._num_windows - 1:
            elapsed += (self._num_windows - 1 - windows) * self._window_ms
        return self._total * 1000 / elapsed

    def _expire(self, now: int) -> None:
        while self._samples and now - self._samples[0][0] >= self._num_windows * self._window_ms:
            self._total -= self._samples.popleft()[1]


class ReplicationThrottles:
    """Both directions, as topic and broker configs set them, and moves between log dirs, which are all throttled."""

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
        """From the dynamic configs of this broker and of all."""
        for quota, name in (
            (self.leader, self.LEADER_RATE),
            (self.follower, self.FOLLOWER_RATE),
            (self.alter_log_dirs, self.ALTER_LOG_DIRS_RATE),
        ):
            quota.limit = int(broker_configs.get(name, default_configs.get(name, UNLIMITED)))
