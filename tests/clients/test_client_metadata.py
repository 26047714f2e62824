"""What a client believes of leaders."""

from __future__ import annotations

from kafkapy.clients.client_metadata import ClientMetadata, LeaderAndEpoch
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.messages.metadata import MetadataResponse

P = TopicPartition("t", 0)


def answer(leader: int, epoch: int, topic_id: bytes = b"1" * 16) -> MetadataResponse:
    partition = MetadataResponse.MetadataResponsePartition(partition_index=0, leader_id=leader, leader_epoch=epoch)
    topic = MetadataResponse.MetadataResponseTopic(name="t", topic_id=topic_id, partitions=[partition])
    brokers = [MetadataResponse.MetadataResponseBroker(node_id=n, host="h", port=n + 1) for n in range(3)]
    return MetadataResponse(brokers=brokers, topics=[topic])


def known(leader: int, epoch: int) -> ClientMetadata:
    metadata = ClientMetadata(lambda at_once: None)
    metadata.topics = {"t"}
    metadata.update(answer(leader, epoch))
    return metadata


def test_older_epochs_are_not_believed() -> None:
    metadata = known(leader=1, epoch=5)
    metadata.update(answer(leader=2, epoch=4))
    assert metadata.leader_of(P) == LeaderAndEpoch(1, 5)


def test_whoever_has_heard_of_a_newer_leader_does_not_ask_the_old_one() -> None:
    metadata = known(leader=1, epoch=5)
    assert not metadata.record_epoch(P, 5) and not metadata.update_wanted
    assert metadata.record_epoch(P, 7) and metadata.update_wanted
    assert not metadata.record_epoch(P, 6)
    for stale in (5, 6):  # brokers that have not heard of it
        metadata.update(answer(leader=1, epoch=stale))
        assert metadata.leader_of(P) == LeaderAndEpoch(-1, 7)
    metadata.update(answer(leader=2, epoch=7))
    assert metadata.leader_of(P) == LeaderAndEpoch(2, 7)


def test_a_newer_leader_named_by_a_response_is_believed() -> None:
    metadata = known(leader=1, epoch=5)
    metadata.record_epoch(P, 7)
    assert metadata.update_leader(P, 2, 7)
    assert metadata.leader_of(P) == LeaderAndEpoch(2, 7)


def test_epochs_of_a_topic_that_is_gone_are_forgotten() -> None:
    metadata = known(leader=1, epoch=5)
    metadata.record_epoch(P, 7)
    metadata.update(MetadataResponse(brokers=[MetadataResponse.MetadataResponseBroker(node_id=1, host="h", port=1)]))
    metadata.update(answer(leader=1, epoch=0, topic_id=b"2" * 16))
    assert metadata.leader_of(P) == LeaderAndEpoch(1, 0)
    metadata.update(answer(leader=1, epoch=0))
    assert metadata.leader_of(P) == LeaderAndEpoch(1, 0)


def test_brokers_without_epochs_are_believed() -> None:
    metadata = known(leader=1, epoch=-1)
    assert not metadata.record_epoch(P, 3)
    assert metadata.leader_of(P) == LeaderAndEpoch(1, -1)
    assert not metadata.record_epoch(TopicPartition("unknown", 0), 3)


def test_partitions_do_not_go_away() -> None:
    """A broker that has just started may know a part of them."""
    metadata = known(leader=1, epoch=5)
    response = answer(leader=2, epoch=6)
    response.topics[0].partitions[0].partition_index = 1
    metadata.update(response)
    assert [(p.partition, p.leader_id) for p in metadata.partitions_of("t")] == [(0, 1), (1, 2)]
    metadata.update(answer(leader=1, epoch=0, topic_id=b"2" * 16))
    assert [p.partition for p in metadata.partitions_of("t")] == [0]
