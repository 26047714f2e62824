from __future__ import annotations

from kafkapy.common.limits import MAX_LONG
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.server.replication.replication_quota import ReplicationQuota, ReplicationThrottles


def test_a_burst_counts_from_the_first_second_on() -> None:
    time = MockTime()
    quota = ReplicationQuota(time)
    quota.mark("t", None)
    quota.limit = 999
    assert quota.rate() == 0
    quota.record(1000)
    assert (quota.rate(), quota.is_exceeded()) == (1000, True)
    time.sleep(0.5)
    quota.record(1000)
    assert quota.rate() == 2000
    time.sleep(3.5)
    assert (quota.rate(), quota.is_exceeded()) == (500, False)
    time.sleep(8)
    assert quota.rate() == 0, "all windows have passed"


def test_nothing_is_exceeded_where_nothing_is_limited() -> None:
    quota = ReplicationQuota(MockTime())
    quota.record(1 << 40)
    assert not quota.is_exceeded()
    quota.limit = 1
    assert quota.is_exceeded()


def test_which_partitions_the_configs_name() -> None:
    time = MockTime()
    throttles = ReplicationThrottles(*(ReplicationQuota(time) for _ in range(3)))

    def throttled(quota: ReplicationQuota) -> list[int]:
        return [index for index in range(4) if quota.is_throttled(TopicPartition("t", index))]

    throttles.update_topic("t", {throttles.LEADER_REPLICAS: "0:1,2:1,3:2", throttles.FOLLOWER_REPLICAS: "*"}, 1)
    assert (throttled(throttles.leader), throttled(throttles.follower)) == ([0, 2], [0, 1, 2, 3])
    throttles.update_topic("t", {}, 1)
    assert (throttled(throttles.leader), throttles.follower.is_idle) == ([], True)


def test_a_broker_s_own_rate_wins_over_that_of_all() -> None:
    time = MockTime()
    throttles = ReplicationThrottles(*(ReplicationQuota(time) for _ in range(3)))
    throttles.update_rates({throttles.LEADER_RATE: "5"}, {throttles.LEADER_RATE: "6", throttles.FOLLOWER_RATE: "7"})
    assert (throttles.leader.limit, throttles.follower.limit) == (5, 7)
    throttles.update_rates({}, {})
    assert throttles.leader.limit == MAX_LONG
