"""The leader's side of replication: what a follower's fetch means, and whom consumers are sent to."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.fetch import FetchRequest, FetchResponse
from kafkapy.server.replication.replica_selector import (
    LEADER,
    RACK_AWARE,
    RackAwareReplicaSelector,
    ReplicaView,
    make_replica_selector,
)
from tests.server.allows import Allows
from tests.server.broker_core import BROKER_ID, TOPIC, BrokerCore, Client, MakeCore, topic_id_of

NAME = TopicPartition(TOPIC, 0)


@pytest.fixture
def core(make_core: MakeCore) -> BrokerCore:
    core = make_core(others=(1, 2))
    core.create_topic(replicas=[BROKER_ID, 1, 2], min_insync_replicas="2")
    return core


def follow(
    client: Client,
    broker: int,
    offset: int,
    *,
    epoch: int = 0,
    last_epoch: int = 0,
    max_wait_ms: int = 0,
    **fields: Any,
) -> None:
    client.send(
        FetchRequest(
            replica_state=FetchRequest.ReplicaState(replica_id=broker, replica_epoch=fields.pop("broker_epoch", -1)),
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            topics=[
                FetchRequest.FetchTopic(
                    topic_id=topic_id_of(TOPIC),
                    partitions=[
                        FetchRequest.FetchPartition(
                            partition=0,
                            fetch_offset=offset,
                            current_leader_epoch=epoch,
                            last_fetched_epoch=last_epoch,
                            log_start_offset=0,
                            partition_max_bytes=1 << 20,
                        )
                    ],
                )
            ],
            **fields,
        ),
        17,
    )


def answer(client: Client) -> FetchResponse.PartitionData:
    response = client.response()
    assert response is not None, "not answered yet"
    (topic,) = response.responses
    partition: FetchResponse.PartitionData
    (partition,) = topic.partitions
    return partition


def code(partition: FetchResponse.PartitionData) -> Errors:
    return Errors.for_code(partition.error_code)


def high_watermark(core: BrokerCore) -> int:
    return core.partition().leader_log().high_watermark


def test_followers_read_what_is_not_committed_and_so_commit_it(core: BrokerCore) -> None:
    core.append(b"a")
    one, two = core.connect("1"), core.connect("2")
    for client, broker in ((one, 1), (two, 2)):
        follow(client, broker, 0, last_epoch=-1)
        got = answer(client)
        assert (len(got.records or b"") > 0, got.high_watermark) == (True, 0)
    follow(one, 1, 1)
    assert (answer(one).high_watermark, high_watermark(core)) == (0, 0)
    follow(two, 2, 1)
    answer(two)
    assert high_watermark(core) == 1
    follow(two, 2, 1)
    assert answer(two).high_watermark == 1, "followers hear of it with their next fetch"


def test_a_waiting_produce_and_a_waiting_consumer_hear_of_it(core: BrokerCore) -> None:
    consumer = core.connect("consumer")
    consumer.send(
        FetchRequest(
            max_wait_ms=500,
            min_bytes=1,
            topics=[
                FetchRequest.FetchTopic(
                    topic=TOPIC,
                    partitions=[FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)],
                )
            ],
        ),
        12,
    )
    core.append(b"a")
    assert consumer.response() is None
    for broker in (1, 2):
        client = core.connect(str(broker))
        follow(client, broker, 1)
        answer(client)
    assert answer(consumer).high_watermark == 1


def test_a_follower_that_waits_is_answered_by_an_append(core: BrokerCore) -> None:
    client = core.connect("1")
    follow(client, 1, 0, last_epoch=-1, max_wait_ms=500)
    assert client.response() is None
    core.append(b"a")
    assert len(answer(client).records or b"") > 0


def test_a_follower_that_waits_hears_of_a_new_epoch(core: BrokerCore) -> None:
    client = core.connect("1")
    follow(client, 1, 0, last_epoch=-1, max_wait_ms=500)
    core.leader_and_isr(TOPIC, [0], topic_id_of(TOPIC), BROKER_ID, 1, [BROKER_ID, 1, 2], [BROKER_ID, 1, 2])
    assert code(answer(client)) is Errors.FENCED_LEADER_EPOCH


def test_who_is_no_replica_gets_nothing(core: BrokerCore) -> None:
    client = core.connect("9")
    follow(client, 9, 0, last_epoch=-1)
    assert code(answer(client)) is Errors.UNKNOWN_LEADER_EPOCH
    follow(client, 9, 0, epoch=-1, last_epoch=-1)
    assert code(answer(client)) is Errors.NOT_LEADER_OR_FOLLOWER


def test_a_fetch_of_an_earlier_life_changes_nothing(core: BrokerCore) -> None:
    core.append(b"a")
    client = core.connect("1")
    follow(client, 1, 0, last_epoch=-1, broker_epoch=8)
    answer(client)
    follow(client, 1, 1, broker_epoch=7)
    assert code(answer(client)) is Errors.NOT_LEADER_OR_FOLLOWER
    assert core.partition().remote_replicas[1].log_end_offset.message_offset == 0


def test_a_diverging_follower_is_not_taken_at_its_word(core: BrokerCore) -> None:
    core.append(b"a")
    core.leader_and_isr(TOPIC, [0], topic_id_of(TOPIC), BROKER_ID, 2, [BROKER_ID, 1, 2], [BROKER_ID, 1, 2])
    client = core.connect("1")
    follow(client, 1, 5, epoch=2, last_epoch=1)
    got = answer(client)
    assert got.diverging_epoch is not None
    assert (got.diverging_epoch.epoch, got.diverging_epoch.end_offset, len(got.records or b"")) == (0, 1, 0)
    assert core.partition().remote_replicas[1].log_end_offset.message_offset == -1


def test_deleted_records_are_gone_when_all_replicas_say_so(core: BrokerCore) -> None:
    for _ in range(3):
        core.append(b"a")
    for broker in (1, 2):
        client = core.connect(str(broker))
        follow(client, broker, 3)
        answer(client)
    assert core.partition().delete_records(2) == 2
    assert core.partition().low_watermark([0, 1, 2]) == 0


# -- roles


def test_what_is_followed_is_fetched(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    topic_id = core.create_topic(replicas=[0, 1], leader=1, epoch=1)
    initial = core.fetchers.following[NAME]
    assert (initial.topic_id, initial.leader_id, initial.leader_epoch, initial.offset) == (topic_id, 1, 1, 0)
    core.leader_and_isr(TOPIC, [0], topic_id, 0, 2, [0], [0, 1])
    assert not core.fetchers.following
    core.append(b"a")
    core.leader_and_isr(TOPIC, [0], topic_id, 1, 3, [1], [0, 1])
    assert core.fetchers.following[NAME].offset == 1
    core.leader_and_isr(TOPIC, [0], topic_id, -1, 4, [1], [0, 1])
    assert not core.fetchers.following


# -- throttling


def test_a_throttled_follower_that_is_not_in_sync_gets_nothing(core: BrokerCore) -> None:
    topic_id = topic_id_of(TOPIC)
    core.leader_and_isr(TOPIC, [0], topic_id, BROKER_ID, 1, [BROKER_ID, 1], [BROKER_ID, 1, 2])
    core.append(b"a" * 1000)
    quota = core.replicas.leader_quota
    quota.mark_from_config(TOPIC, f"0:{BROKER_ID},1:5", BROKER_ID)
    quota.limit = 50
    client = core.connect("2")
    follow(client, 2, 0, epoch=1, last_epoch=-1)
    assert len(answer(client).records or b"") > 1000
    assert quota.rate() > 50
    follow(client, 2, 0, epoch=1, last_epoch=-1)
    assert len(answer(client).records or b"") == 0
    follow(client, 2, 0, epoch=1, last_epoch=-1, max_wait_ms=100)
    core.append(b"b")
    assert client.response() is None, "what is withheld doesn't count"
    core.advance(110)
    answer(client)
    follow(client, 1, 0, epoch=1, last_epoch=-1)
    assert len(answer(client).records or b"") > 1000, "whoever is in sync is not held up"


# -- consumers and racks


def test_consumers_are_sent_to_their_rack(core: BrokerCore) -> None:
    core.replicas._replica_selector = RackAwareReplicaSelector()
    core.cache._brokers = {
        broker_id: broker._replace(rack=f"rack-{broker_id}") for broker_id, broker in core.cache._brokers.items()
    }
    core.append(b"a")
    follower = core.connect("1")
    follow(follower, 1, 1)
    answer(follower)

    def read(rack: str) -> FetchResponse.PartitionData:
        consumer = core.connect("consumer")
        consumer.send(
            FetchRequest(
                rack_id=rack,
                topics=[
                    FetchRequest.FetchTopic(
                        topic=TOPIC,
                        partitions=[FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)],
                    )
                ],
            ),
            12,
        )
        return answer(consumer)

    assert read("rack-1").preferred_read_replica == 1
    assert read("rack-0").preferred_read_replica == -1
    assert read("rack-2").preferred_read_replica == -1, "it does not have the offset"
    assert read("").preferred_read_replica == -1


def test_of_several_in_the_rack_the_furthest_is_taken() -> None:
    leader = ReplicaView(0, "a", 10, 0)
    followers = [
        ReplicaView(1, "b", 5, 0),
        ReplicaView(2, "b", 8, 9),
        ReplicaView(3, "b", 8, 2),
        ReplicaView(4, "c", 9, 0),
    ]
    assert RackAwareReplicaSelector().select("b", leader, followers) == 3
    assert RackAwareReplicaSelector().select("x", leader, followers) == 0


def test_the_classes_that_are_known() -> None:
    assert make_replica_selector(None) is None
    assert isinstance(make_replica_selector(RACK_AWARE), RackAwareReplicaSelector)
    selector = make_replica_selector(LEADER)
    assert selector is not None
    assert selector.select("b", ReplicaView(0, "a", 10, 0), [ReplicaView(1, "b", 10, 0)]) == 0
    with pytest.raises(Exception, match=r"com\.example\.Selector"):
        make_replica_selector("com.example.Selector")


@pytest.mark.parametrize("topic_id", [topic_id_of(TOPIC), topic_id_of("unknown")])
def test_a_client_that_says_it_is_a_broker_learns_nothing(core: BrokerCore, topic_id: bytes) -> None:
    """Not even which topic ids there are (CVE-2018-1288; Apache 3.9.1 answers so)."""
    core.handlers.fetch._authorizer = Allows(("READ", "TOPIC", TOPIC))
    client = core.connect()
    partition = FetchRequest.FetchPartition(partition=0, partition_max_bytes=100)
    topics = [FetchRequest.FetchTopic(topic_id=topic_id, partitions=[partition])]
    client.send(FetchRequest(replica_state=FetchRequest.ReplicaState(replica_id=5), topics=topics), 17)
    assert Errors.for_code(answer(client).error_code) is Errors.TOPIC_AUTHORIZATION_FAILED
    client.send(FetchRequest(topics=topics), 17)
    expected = Errors.NONE if topic_id == topic_id_of(TOPIC) else Errors.UNKNOWN_TOPIC_ID
    assert Errors.for_code(answer(client).error_code) is expected


def test_what_fetches_of_followers_take_is_exempt_from_request_quotas(core: BrokerCore) -> None:
    core.quotas.apply("clients", "app", {"request_percentage": "1"})
    follower = core.connect("1")
    counted, session_id = [], 0
    for epoch in range(3):  # the first begins a session, the others go on with it
        follow(follower, 1, 0, session_id=session_id, session_epoch=epoch)
        response = follower.response()
        assert response is not None
        session_id = response.session_id
        counted.append(core.quotas.requests.exempt.per_second(0))
    assert 0 < counted[0] < counted[1] < counted[2]
