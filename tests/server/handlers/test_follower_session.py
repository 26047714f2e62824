"""A follower's fetch session looks only at partitions with news: what wakes a quiet one, and what the ISR makes of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from twisted.internet.error import ConnectionLost
from twisted.python.failure import Failure

from kafkapy.cluster.replica import Replica
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.server.fetch.fetch_session import LOOK_AT_ALL_MS, FollowerFetchSession
from tests.server.broker_core import BROKER_ID, TOPIC, BrokerCore, Client, MakeCore, topic_id_of

PARTITIONS = 3
REPLICAS = [BROKER_ID, 1, 2]


@pytest.fixture
def core(make_core: MakeCore) -> BrokerCore:
    core = make_core(others=(1, 2))
    core.create_topic(partitions=PARTITIONS, replicas=REPLICAS)
    return core


class Follower:
    """Broker `broker`, as it fetches all partitions of one topic within a session."""

    def __init__(self, core: BrokerCore, broker: int = 1) -> None:
        self.core = core
        self.broker = broker
        self.session_id = 0
        self.session_epoch = 0
        self.client: Client = core.connect(f"broker-{broker}")

    def ask(
        self,
        offsets: dict[int, int],
        *,
        max_wait_ms: int = 0,
        min_bytes: int = 1,
        epoch: int = 0,
        forgotten: Iterable[int] = (),
    ) -> None:
        """`offsets`: of the partitions that have changed for this follower."""
        topic_id = topic_id_of(TOPIC)
        partitions = [
            FetchRequest.FetchPartition(
                partition=index,
                fetch_offset=offset,
                current_leader_epoch=epoch,
                last_fetched_epoch=-1,
                log_start_offset=0,
                partition_max_bytes=1 << 20,
            )
            for index, offset in offsets.items()
        ]
        request = FetchRequest(
            replica_state=FetchRequest.ReplicaState(replica_id=self.broker, replica_epoch=-1),
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            session_id=self.session_id,
            session_epoch=self.session_epoch,
        )
        if partitions:
            request.topics = [FetchRequest.FetchTopic(topic_id=topic_id, partitions=partitions)]
        if forgotten:
            request.forgotten_topics_data = [FetchRequest.ForgottenTopic(topic_id=topic_id, partitions=list(forgotten))]
        self.client.send(request, 17)

    def answer(self) -> dict[int, FetchResponse.PartitionData]:
        response = self.client.response()
        assert response is not None, "not answered yet"
        assert response.error_code == 0
        self.session_id = response.session_id
        self.session_epoch += 1
        return {data.partition_index: data for topic in response.responses for data in topic.partitions}

    def fetch(self, offsets: dict[int, int] | None = None, **fields: Any) -> dict[int, FetchResponse.PartitionData]:
        self.ask(offsets or {}, **fields)
        return self.answer()

    @property
    def session(self) -> FollowerFetchSession:
        session = self.core.fetch_sessions._sessions[self.session_id]
        assert isinstance(session, FollowerFetchSession)
        return session

    @property
    def looked_at(self) -> set[int]:
        return {fetch.topic_partition.partition for fetch in self.session.active.values()}

    def replica(self, index: int = 0) -> Replica:
        return self.core.partition(index=index).remote_replicas[self.broker]


def settled(core: BrokerCore, broker: int = 1) -> Follower:
    """A follower that has all and knows all."""
    follower = Follower(core, broker)
    follower.fetch(dict.fromkeys(range(PARTITIONS), 0))
    follower.fetch()
    assert follower.looked_at == set()
    return follower


def test_only_partitions_with_news_are_looked_at(core: BrokerCore) -> None:
    follower = settled(core)
    assert follower.fetch() == {}
    core.append(b"a", index=1)
    assert follower.looked_at == {1}
    assert list(follower.fetch()) == [1]
    assert follower.looked_at == {1}, "what was sent may not have arrived"
    assert follower.fetch({1: 1}) == {}
    assert follower.looked_at == set()


def test_a_fetch_that_waits_hears_of_a_quiet_partition(core: BrokerCore) -> None:
    follower = settled(core)
    follower.ask({}, max_wait_ms=500)
    assert follower.client.response() is None
    core.append(b"a", index=2)
    got = follower.answer()
    assert (list(got), len(got[2].records or b"") > 0) == ([2], True)


def test_min_bytes_count_over_all_partitions_that_wake(core: BrokerCore) -> None:
    follower = settled(core)
    follower.ask({}, max_wait_ms=500, min_bytes=300)
    core.append(b"a" * 150, index=0)
    assert follower.client.response() is None
    core.append(b"a" * 150, index=2)
    assert sorted(follower.answer()) == [0, 2]


def test_time_runs_out_for_a_fetch_without_news(core: BrokerCore) -> None:
    follower = settled(core)
    follower.ask({}, max_wait_ms=500)
    core.advance(510)
    assert follower.answer() == {}


def test_a_new_high_watermark_is_told_with_the_next_fetch(core: BrokerCore) -> None:
    one, two = settled(core, 1), settled(core, 2)
    core.append(b"a")
    for follower in (one, two):
        follower.fetch()
    one.fetch({0: 1})
    assert one.looked_at == set(), "it has all, and the watermark has not moved"
    two.fetch({0: 1})
    assert one.looked_at == two.looked_at == {0}
    assert one.fetch()[0].high_watermark == two.fetch()[0].high_watermark == 1
    assert one.looked_at == two.looked_at == set()


def test_whoever_lags_or_is_out_of_the_isr_is_never_quiet(core: BrokerCore) -> None:
    core.append(b"a")
    behind = Follower(core, 1)
    behind.fetch(dict.fromkeys(range(PARTITIONS), 0))
    behind.fetch()
    assert behind.looked_at == {0}
    core.leader_and_isr(TOPIC, [1], topic_id_of(TOPIC), BROKER_ID, 1, [BROKER_ID, 2], REPLICAS)
    behind.fetch({1: 0}, epoch=1)
    behind.fetch()
    assert behind.looked_at == {0, 1}


def test_a_new_epoch_an_error_and_its_end(core: BrokerCore) -> None:
    follower = settled(core)
    core.leader_and_isr(TOPIC, [0], topic_id_of(TOPIC), BROKER_ID, 1, REPLICAS, REPLICAS)
    assert follower.fetch()[0].error_code == Errors.FENCED_LEADER_EPOCH.code
    assert follower.looked_at == {0}, "an error is told until it is gone"
    assert follower.fetch({0: 0}, epoch=1)[0].error_code == 0
    follower.fetch()
    assert follower.looked_at == set()


def test_a_waiting_fetch_hears_of_a_new_epoch_of_a_quiet_partition(core: BrokerCore) -> None:
    follower = settled(core)
    follower.ask({}, max_wait_ms=500)
    core.leader_and_isr(TOPIC, [2], topic_id_of(TOPIC), BROKER_ID, 1, REPLICAS, REPLICAS)
    assert follower.answer()[2].error_code == Errors.FENCED_LEADER_EPOCH.code


def test_a_partition_that_is_gone(core: BrokerCore) -> None:
    follower = settled(core)
    core.replicas.mark_offline([TopicPartition(TOPIC, 1)])
    assert follower.fetch()[1].error_code == Errors.KAFKA_STORAGE_ERROR.code
    assert follower.fetch({}, forgotten=[1]) == {}
    assert set(follower.session.partitions) == {(topic_id_of(TOPIC), 0), (topic_id_of(TOPIC), 2)}


def test_a_moved_log_start_is_told(core: BrokerCore) -> None:
    one, two = settled(core, 1), settled(core, 2)
    core.append(b"a")
    for follower in (one, two):
        follower.fetch()
        follower.fetch({0: 1})
        follower.fetch()
    core.partition().delete_records(1)
    core.replicas.role_changed(TopicPartition(TOPIC, 0))
    assert one.fetch()[0].log_start_offset == 1


def test_what_a_follower_forgets_is_gone_even_if_it_was_quiet(core: BrokerCore) -> None:
    follower = settled(core)
    follower.fetch({}, forgotten=[0])
    core.append(b"a")
    assert follower.looked_at == set()
    assert follower.fetch() == {}


def test_a_follower_that_cuts_its_log_is_looked_at_again(core: BrokerCore) -> None:
    core.append(b"a")
    follower = Follower(core)
    follower.fetch(dict.fromkeys(range(PARTITIONS), 0))
    follower.fetch({0: 1})
    follower.fetch()
    assert follower.looked_at == set()
    assert len(follower.fetch({0: 0})[0].records or b"") > 0
    assert follower.replica().log_end_offset.message_offset == 0


def test_all_are_looked_at_from_time_to_time(core: BrokerCore) -> None:
    follower = settled(core)
    before = follower.replica().last_fetch_ms
    core.advance(LOOK_AT_ALL_MS)
    follower.fetch()
    assert follower.looked_at == set()
    assert follower.replica().last_fetch_ms == before + LOOK_AT_ALL_MS


# -- in sync or not


def test_a_quiet_follower_was_caught_up_at_its_last_fetch(core: BrokerCore) -> None:
    follower = settled(core)
    core.advance(3000)
    follower.fetch()
    now = core.time.monotonic_ms()
    core.advance(1000)
    core.append(b"a")
    assert follower.replica().last_caught_up_ms == now


def test_a_follower_that_fetches_but_lags_goes_out_in_time(core: BrokerCore) -> None:
    follower = settled(core)
    settled(core, 2)
    core.append(b"a")
    core.replicas.replica_lag_time_max_ms = 1000
    for _ in range(4):
        core.advance(300)
        follower.fetch()  # which gets the record and never has it
    core.replicas.maybe_shrink_isrs()
    ((name, proposed, _),) = core.isr_proposals
    assert (name.partition, proposed.isr) == (0, (BROKER_ID,))


def test_a_dead_follower_goes_out_only_where_it_misses_something(core: BrokerCore) -> None:
    settled(core)
    settled(core, 2)
    core.advance(60_000)
    core.replicas.maybe_shrink_isrs()
    assert core.isr_proposals == []
    core.append(b"a", index=1)
    core.replicas.maybe_shrink_isrs()
    assert [(name.partition, proposed.isr) for name, proposed, _ in core.isr_proposals] == [(1, (BROKER_ID,))]


def test_whoever_catches_up_while_it_is_put_out_gets_in_again(core: BrokerCore) -> None:
    follower = settled(core)
    two = settled(core, 2)
    core.append(b"a")
    two.fetch()
    core.advance(60_000)
    two.fetch({0: 1})
    core.replicas.maybe_shrink_isrs()
    _, proposed, done = core.isr_proposals.pop()
    assert proposed.isr == (BROKER_ID, 2)
    follower.fetch()
    follower.fetch({0: 1})
    follower.fetch()
    follower.fetch()
    done(proposed.with_partition_epoch(1))
    follower.fetch()
    _, proposed, done = core.isr_proposals.pop()
    assert proposed.isr == (BROKER_ID, 2, 1)
    done(proposed.with_partition_epoch(2))
    follower.fetch()
    assert 0 not in follower.looked_at


def test_a_quiet_follower_that_the_controller_puts_out_holds_up_nobody(core: BrokerCore) -> None:
    """As controlled shutdown does: a broker that is about to stop is alive, but not waited for."""
    one, two = settled(core), settled(core, 2)
    one.fetch()
    assert one.looked_at == set()
    core.leader_and_isr(TOPIC, [0], topic_id_of(TOPIC), BROKER_ID, 1, [BROKER_ID, 2], REPLICAS)
    core.append(b"a")
    two.fetch({0: 0}, epoch=1)
    two.fetch({0: 1}, epoch=1)
    assert core.partition().leader_log().high_watermark == 1


def test_a_session_that_ends_says_how_far_its_follower_was(core: BrokerCore) -> None:
    follower = settled(core)
    core.advance(2000)
    follower.fetch()
    now = core.time.monotonic_ms()
    core.advance(100)
    core.fetch_sessions.drop(follower.session_id)
    assert follower.replica().last_caught_up_ms == now
    assert not core.replicas.quiet_partitions
    core.append(b"a")


def test_a_new_session_takes_the_place_of_the_old(core: BrokerCore) -> None:
    follower = settled(core)
    old = follower.session
    follower.session_epoch = 0
    follower.fetch(dict.fromkeys(range(PARTITIONS), 0))
    assert follower.session is not old
    core.append(b"a")
    assert follower.fetch()[0].error_code == 0


def test_a_fetch_of_a_broken_connection_does_not_silence_the_next(core: BrokerCore) -> None:
    follower = settled(core)
    follower.ask({}, max_wait_ms=500)
    follower.client.channel.connectionLost(Failure(ConnectionLost()))
    follower.client = core.connect("again")
    follower.session_epoch += 1
    core.advance(300)
    follower.ask({}, max_wait_ms=500)
    core.advance(210)  # the time of the first is up
    core.append(b"a", index=1)
    assert list(follower.answer()) == [1]


# -- throttle


def test_the_throttle_counts_what_is_sent_once(core: BrokerCore) -> None:
    follower = settled(core)
    core.leader_and_isr(TOPIC, [0], topic_id_of(TOPIC), BROKER_ID, 1, [BROKER_ID, 2], REPLICAS)
    quota = core.replicas.leader_quota
    quota.mark_from_config(TOPIC, f"0:{BROKER_ID}", BROKER_ID)
    quota.limit = 1 << 30
    follower.fetch({0: 0}, epoch=1)
    core.append(b"a" * 1000)
    follower.ask({}, max_wait_ms=500, min_bytes=5000)
    assert quota.rate() == 0
    core.advance(510)
    assert len(follower.answer()[0].records or b"") == quota._rate._total > 1000


def test_a_change_of_the_isr_is_one_line_with_cause_and_consequence(
    core: BrokerCore, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "kafkapy")
    settled(core)
    settled(core, 2)
    core.append(b"a")
    core.advance(60_000)
    core.replicas.maybe_shrink_isrs()
    ((_, proposed, done),) = core.isr_proposals
    caplog.clear()
    done(proposed.with_partition_epoch(7))
    assert [record.getMessage() for record in caplog.records if "ISR" in record.getMessage()] == [
        "Partition t-0: ISR [0, 1, 2] -> [0], because not caught up for more than 30000 ms: 1 (at offset 0), 2 (at offset 0); "
        "high watermark 0, log end 1; high watermark 1 now, partition epoch 7"
    ]
