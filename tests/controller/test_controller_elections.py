"""Elections on demand, the balance of leaders, producer ids and features."""

from __future__ import annotations

from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.wire_enums import ElectionType
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from kafkapy.protocol.messages.update_features import UpdateFeaturesRequest
from kafkapy.zk.zk_data import PreferredReplicaElectionZNode
from tests.controller.controller_cluster import Cluster

T0 = TopicPartition("t", 0)


def elect(cluster: Cluster, election_type: ElectionType, *partitions: TopicPartition) -> dict[str, Errors | int]:
    answers: list[dict[TopicPartition, KafkaError | int] | KafkaError] = []
    cluster.controller.elect_leaders(partitions, election_type, answers.append)
    cluster.settle()
    (answer,) = answers
    assert isinstance(answer, dict)
    return {str(p): r.error if isinstance(r, KafkaError) else r for p, r in answer.items()}


def away_from_preferred(*more: int) -> Cluster:
    """Broker 2 is preferred for t-0, 1 leads it."""
    cluster = Cluster(1, 2, *more)
    cluster.create_topic("t", {0: [2, 1]})
    cluster.kill(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    assert cluster.state("t", 0).leader == 1
    return cluster


# --- preferred and unclean ------------------------------------------------------------------------------------------


def test_preferred_leader_election() -> None:
    cluster = away_from_preferred()
    answers: list[dict[TopicPartition, KafkaError | int] | KafkaError] = []
    cluster.controller.elect_leaders([T0], ElectionType.PREFERRED, answers.append)
    cluster.settle()
    assert isinstance(answers[0], dict)
    refused = answers[0][T0]
    assert isinstance(refused, KafkaError)
    assert refused.error is Errors.PREFERRED_LEADER_NOT_AVAILABLE
    assert refused.message == (
        "Failed to elect leader for partition t-0 under strategy PreferredReplicaPartitionLeaderElectionStrategy"
    )
    cluster.alter_isr("t", 0, [1, 2])
    cluster.forget()
    assert elect(cluster, ElectionType.PREFERRED, T0, TopicPartition("x", 1), T0) == {
        "t-0": 2,
        "x-1": Errors.UNKNOWN_TOPIC_OR_PARTITION,
    }
    (write,) = cluster.zookeeper.take_writes()
    assert '"leader":2,"leader_epoch":2' in write and '"isr":[1,2]' in write
    assert elect(cluster, ElectionType.PREFERRED, T0) == {"t-0": Errors.ELECTION_NOT_NEEDED}


def test_unclean_leader_election() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [2, 1]})
    cluster.alter_isr("t", 0, [2])
    assert elect(cluster, ElectionType.UNCLEAN, T0) == {"t-0": Errors.ELECTION_NOT_NEEDED}
    cluster.kill(2)
    cluster.settle()
    assert elect(cluster, ElectionType.UNCLEAN, T0) == {"t-0": 1}
    assert cluster.state("t", 0).isr == (1,)


def test_unclean_leader_election_without_any_live_replica() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [2]})
    cluster.kill(2)
    cluster.settle()
    assert elect(cluster, ElectionType.UNCLEAN, T0) == {"t-0": Errors.ELIGIBLE_LEADERS_NOT_AVAILABLE}


def test_no_election_for_a_topic_that_is_deleted() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1, 2]})
    cluster.kill(2)
    cluster.members[1].zk.create_delete_topic_paths(["t"])
    cluster.settle()
    assert elect(cluster, ElectionType.PREFERRED, T0) == {"t-0": Errors.INVALID_TOPIC_EXCEPTION}


def test_the_legacy_znode() -> None:
    cluster = away_from_preferred()
    cluster.alter_isr("t", 0, [1, 2])
    zk, path = cluster.members[1].zk, PreferredReplicaElectionZNode.path
    for _ in range(2):
        zk.create_recursive(path, PreferredReplicaElectionZNode.encode([T0, TopicPartition("x", 0)]))
        cluster.settle()
        assert not zk.path_exists(path)
        assert cluster.state("t", 0).leader == 2


def test_the_legacy_znode_at_failover() -> None:
    cluster = away_from_preferred(3)
    cluster.alter_isr("t", 0, [1, 2])
    zk = cluster.members[2].zk
    cluster.zookeeper.clients[1]._watches.clear()  # the controller dies before it sees the node
    zk.create_recursive(PreferredReplicaElectionZNode.path, PreferredReplicaElectionZNode.encode([T0]))
    cluster.kill(1)
    cluster.settle()
    assert cluster.state("t", 0).leader == 2
    assert not zk.path_exists(PreferredReplicaElectionZNode.path)


# --- balance --------------------------------------------------------------------------------------------------------


def test_leaders_are_balanced_five_seconds_after_failover_and_then_regularly() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {n: [1 + n % 2, 2 - n % 2] for n in range(4)})
    cluster.kill(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    for n in range(4):
        cluster.alter_isr("t", n, [1, 2])
    cluster.time.advance(4_999)
    cluster.settle()
    assert [cluster.state("t", n).leader for n in range(4)] == [1, 1, 1, 1]
    cluster.time.advance(1)
    cluster.settle()
    assert [cluster.state("t", n).leader for n in range(4)] == [1, 2, 1, 2]
    cluster.kill(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    cluster.alter_isr("t", 1, [1, 2])
    cluster.time.advance(300_000)
    cluster.settle()
    assert [cluster.state("t", n).leader for n in range(4)] == [1, 2, 1, 1]


def test_a_small_imbalance_is_left() -> None:
    cluster = Cluster(1, 2, leader_imbalance_per_broker_percentage=50)
    cluster.create_topic("t", {n: [2, 1] for n in range(4)})
    elect_away = [TopicPartition("t", n) for n in range(2)]
    for partition in elect_away:
        cluster.alter_isr("t", partition.partition, [2, 1])
    cluster.controller.alter_partition_reassignments({p: [1, 2] for p in elect_away}.items(), lambda _: None)
    cluster.settle()
    elect(cluster, ElectionType.PREFERRED, *elect_away)
    cluster.controller.alter_partition_reassignments({p: [2, 1] for p in elect_away}.items(), lambda _: None)
    cluster.settle()
    cluster.time.advance(5_000)
    cluster.settle()
    assert [cluster.state("t", n).leader for n in range(4)] == [1, 1, 2, 2]


def test_balance_can_be_switched_off() -> None:
    cluster = Cluster(1, 2, auto_leader_rebalance_enable=False)
    cluster.create_topic("t", {0: [2, 1]})
    cluster.kill(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    cluster.alter_isr("t", 0, [1, 2])
    cluster.time.advance(1_000_000)
    cluster.settle()
    assert cluster.state("t", 0).leader == 1


# --- producer ids ---------------------------------------------------------------------------------------------------


def allocate(cluster: Cluster, broker_id: int, epoch: int) -> AllocateProducerIdsResponse:
    answers: list[AllocateProducerIdsResponse] = []
    request = AllocateProducerIdsRequest(broker_id=broker_id, broker_epoch=epoch)
    cluster.controller.allocate_producer_ids(request, answers.append)
    cluster.settle()
    return answers[0]


def test_blocks_of_producer_ids() -> None:
    cluster = Cluster(1, 2)
    cluster.forget()
    first = allocate(cluster, 2, cluster.members[2].epoch)
    assert (first.error_code, first.producer_id_start, first.producer_id_len) == (0, 0, 1000)
    assert cluster.zookeeper.take_writes() == [
        'set /latest_producer_id_block {"version":1,"broker":2,"block_start":"0","block_end":"999"}'
    ]
    second = allocate(cluster, 1, cluster.members[1].epoch)
    assert (second.producer_id_start, second.producer_id_len) == (1000, 1000)


def test_producer_ids_are_given_to_live_brokers_only() -> None:
    cluster = Cluster(1, 2)
    assert allocate(cluster, 9, 1).error_code == Errors.BROKER_ID_NOT_REGISTERED.code
    assert allocate(cluster, 2, 1).error_code == Errors.STALE_BROKER_EPOCH.code


def test_producer_ids_end() -> None:
    cluster = Cluster(1)
    last = f'{{"version":1,"broker":1,"block_start":"{2**63 - 1000}","block_end":"{2**63 - 1}"}}'
    cluster.members[1].zk.set_data("/latest_producer_id_block", last.encode())
    assert allocate(cluster, 1, cluster.members[1].epoch).error_code == Errors.UNKNOWN_SERVER_ERROR.code


# --- features -------------------------------------------------------------------------------------------------------


def update_features(cluster: Cluster, version: int, **fields: Any) -> tuple[Errors, str | None]:
    update = UpdateFeaturesRequest.FeatureUpdateKey(**{"feature": "f", **fields})
    answers: list[dict[str, KafkaError] | KafkaError] = []
    request = UpdateFeaturesRequest(feature_updates=[update])
    cluster.controller.update_features(request, version, answers.append)
    cluster.settle()
    (answer,) = answers
    assert isinstance(answer, dict)
    (result,) = answer.values()
    return result.error, result.message


@pytest.mark.parametrize(
    ("version", "fields", "message"),
    [
        (0, {"feature": ""}, "Feature name can not be empty."),
        (1, {"max_version_level": 1, "upgrade_type": 7}, "Received unknown upgrade type."),
        (0, {"max_version_level": 0, "allow_downgrade": True}, "Can not delete non-existing finalized feature."),
        (1, {"max_version_level": 0}, "Can not provide versionLevel: 0 less than 1 without setting the SAFE "
            "downgradeType in the request."),
        (1, {"max_version_level": 3}, "Could not apply finalized feature update because the provided feature is not "
            "supported."),
    ],
)  # fmt: skip
def test_features_cannot_be_finalized(version: int, fields: dict[str, Any], message: str) -> None:
    cluster = Cluster(1)
    assert update_features(cluster, version, **fields) == (Errors.INVALID_REQUEST, message)
    assert cluster.zookeeper.json("/feature") == '{"version":2,"status":1,"features":{}}'


def test_a_feature_that_is_finalized_can_be_deleted() -> None:
    cluster = Cluster()
    cluster.start(1).zk.create_recursive(
        "/feature", b'{"version":2,"status":1,"features":{"f":{"max_version_level":2}}}'
    )
    cluster.settle()
    assert update_features(cluster, 1, max_version_level=2)[0] is Errors.INVALID_REQUEST
    assert update_features(cluster, 1, max_version_level=1)[0] is Errors.INVALID_REQUEST
    assert update_features(cluster, 1, max_version_level=3, upgrade_type=2)[0] is Errors.INVALID_REQUEST
    assert update_features(cluster, 1, max_version_level=0, upgrade_type=2)[0] is Errors.NONE
    assert cluster.zookeeper.json("/feature") == '{"version":2,"status":1,"features":{}}'


def test_feature_versioning_is_switched_on() -> None:
    cluster = Cluster()
    cluster.start(1).zk.create_recursive("/feature", b'{"version":1,"status":0,"features":{}}')
    cluster.settle()
    assert cluster.zookeeper.json("/feature") == '{"version":2,"status":1,"features":{}}'
