"""Kafka's operations against a real ZooKeeper: payloads in place, versions, fencing, registration."""

import json
import threading
import time
from collections.abc import Iterator, Sequence

import pytest
from kazoo.client import KazooClient

from kafkapy.common import uuid
from kafkapy.common.broker import Broker, EndPoint
from kafkapy.common.leader_and_isr import LeaderAndIsr, LeaderIsrAndControllerEpoch
from kafkapy.common.replica_assignment import ReplicaAssignment
from kafkapy.common.time import MockTime
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.zk import broker_registration
from kafkapy.zk.errors import (
    ControllerMovedError,
    NodeExistsError,
    NoNodeError,
)
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChangeHandler, ZNodeChildChangeHandler
from kafkapy.zk.kafka_zk_client import MATCH_ANY_VERSION, UNKNOWN_VERSION, KafkaZkClient
from kafkapy.zk.requests import Multi, Request, Response
from kafkapy.zk.zk_data import PERSISTENT_PATHS, BrokerInfo, ProducerIdBlockZNode, ProducerIdsBlock, TopicZNode
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.integration


@pytest.fixture
def zk(zk_connect: str) -> Iterator[KafkaZkClient]:
    client = KafkaZkClient.connect(zk_connect, 6000, time=MockTime(1_795_231_265_361))
    client.create_top_level_paths()
    yield client
    client.close()


@pytest.fixture
def zk2(zk: KafkaZkClient, zk_connect: str) -> Iterator[KafkaZkClient]:
    """Another process."""
    client = KafkaZkClient.connect(zk_connect, 6000)
    yield client
    client.close()


def broker_info(broker_id: int, port: int = 9092) -> BrokerInfo:
    return BrokerInfo(Broker(broker_id, (EndPoint("h", port, "PLAINTEXT", "PLAINTEXT"),)))


def read(zk: KafkaZkClient, path: str) -> object:
    data = zk.get_data_and_version(path)[0]
    return None if data is None else json.loads(data)


def kill(zk: KafkaZkClient) -> None:
    """As `kill -9` does: the connection ends, the session goes on until it times out."""
    kazoo = zk._client._kazoo
    kazoo._stopped.set()
    kazoo._connection._socket.shutdown(2)


def test_top_level_paths_are_empty_nodes(zk: KafkaZkClient) -> None:
    assert all(zk.get_data_and_version(path) == (None, 0) for path in PERSISTENT_PATHS)


def test_top_level_paths_take_two_rounds(zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> None:
    zk._pipeline.delete_recursive("/config")
    rounds, answers_to = [], zk._pipeline.answers_to

    def counted(requests: Sequence[Request]) -> list[Response]:
        rounds.append(len(requests))
        return answers_to(requests)

    monkeypatch.setattr(zk._pipeline, "answers_to", counted)
    zk.create_top_level_paths()
    assert rounds == [len(PERSISTENT_PATHS), 7]  # /config and the six below it
    assert all(zk.get_data_and_version(path) == (None, 0) for path in PERSISTENT_PATHS)


def test_cluster_id(zk: KafkaZkClient, zk2: KafkaZkClient) -> None:
    assert zk.get_cluster_id() is None
    assert zk.get_or_create_cluster_id("first") == "first"
    assert zk2.get_or_create_cluster_id("second") == "first"
    assert zk2.get_cluster_id() == "first"


def test_generated_broker_ids(zk: KafkaZkClient, zk2: KafkaZkClient) -> None:
    assert [zk.generate_broker_id(1000), zk2.generate_broker_id(1000), zk.generate_broker_id(1000)] == [
        1001,
        1002,
        1003,
    ]


def test_broker_registration(zk: KafkaZkClient, zk2: KafkaZkClient) -> None:
    epoch = zk.register_broker(broker_info(1))
    assert zk.get_data_and_version("/brokers/ids/1")[1] == 1, "made empty, then written"
    assert zk.register_broker(broker_info(1)) == epoch, "our own node is as good as made"
    other = zk2.register_broker(broker_info(2))
    assert zk.get_sorted_broker_list() == [1, 2]
    brokers = {broker.id: epoch for broker, epoch in zk.get_all_broker_and_epochs_in_cluster().items()}
    assert brokers == {1: epoch, 2: other}
    zk.update_broker_info(broker_info(1, 9999))
    assert zk.get_broker(1) == broker_info(1, 9999).broker
    assert zk.get_broker(3) is None
    assert {b: e for b, e in zk2.get_all_broker_and_epochs_in_cluster().items() if b.id == 1}.popitem()[1] == epoch


def test_registration_waits_for_the_end_of_a_killed_predecessor(
    zk: KafkaZkClient, zk_connect: str, caplog: pytest.LogCaptureFixture
) -> None:
    predecessor = KafkaZkClient.connect(zk_connect, 2000)
    old_epoch = predecessor.register_broker(broker_info(1))
    kill(predecessor)
    assert zk.register_broker(broker_info(1)) > old_epoch
    assert "/brokers/ids/1 belongs to the session" in caplog.text
    predecessor.close()


def test_registration_of_an_id_that_is_in_use(
    zk: KafkaZkClient, zk2: KafkaZkClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    zk2.register_broker(broker_info(1))
    monkeypatch.setattr(broker_registration, "SESSION_END_MARGIN_MS", -5500)
    with pytest.raises(NodeExistsError, match="is another broker with this id running"):
        zk.register_broker(broker_info(1))


def test_registration_after_an_expired_session(zk: KafkaZkClient, zk2: KafkaZkClient) -> None:
    """The node of our own expired session is replaced even if it is still there."""
    zk2.register_broker(broker_info(1))
    assert zk2.session_id is not None
    zk._client.past_session_ids.add(zk2.session_id)
    first = zk2.get_data_and_version("/brokers/ids/1")
    assert zk.register_broker(broker_info(1, 7)) > 0
    assert zk.get_data_and_version("/brokers/ids/1") != first


def test_reregistration_gets_a_new_epoch(zk: KafkaZkClient, zk2: KafkaZkClient) -> None:
    epoch = zk.register_broker(broker_info(1))
    renewed: list[int] = []
    done = threading.Event()

    def after() -> None:
        renewed.append(zk.register_broker(broker_info(1)))
        done.set()

    zk.register_state_change_handler(StateChangeHandler("broker", after_initializing_session=after))
    client = zk._client
    twin = KazooClient(client.connect.partition("/")[0], client_id=(client.session_id, client.session_password))
    twin.start()
    twin.stop()
    assert done.wait(HANG_SECONDS)
    assert renewed[0] > epoch
    assert zk2.get_sorted_broker_list() == [1]


def test_election(zk: KafkaZkClient, zk2: KafkaZkClient) -> None:
    assert zk.get_controller_id() is None
    assert zk.get_controller_epoch() is None
    assert zk.register_controller_and_increment_controller_epoch(1) == (1, 1)
    assert read(zk, "/controller") == {
        "version": 2,
        "brokerid": 1,
        "timestamp": "1795231265361",
        "kraftControllerEpoch": -1,
    }
    with pytest.raises(ControllerMovedError):
        zk2.register_controller_and_increment_controller_epoch(2)
    assert (zk2.get_controller_id(), zk2.get_controller_epoch()) == (1, (1, 1))
    gone = threading.Event()
    handler = ZNodeChangeHandler("/controller", handle_deletion=gone.set)
    assert zk2.register_znode_change_handler_and_check_existence(handler)
    zk.close()
    assert gone.wait(HANG_SECONDS)
    assert zk2.register_controller_and_increment_controller_epoch(2) == (2, 2)
    zk2.delete_controller(2)
    assert zk2.get_controller_id() is None


def test_election_whose_answer_was_lost_is_won(zk: KafkaZkClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first try goes through unseen; the second meets our own node at the epoch that was tried."""
    answer_to = zk._pipeline.answer_to

    def twice(request: Request) -> Response:
        if isinstance(request, Multi):
            answer_to(request)
        return answer_to(request)

    monkeypatch.setattr(zk._pipeline, "answer_to", twice)
    assert zk.register_controller_and_increment_controller_epoch(1) == (1, 1)


def elected(zk: KafkaZkClient) -> int:
    return zk.register_controller_and_increment_controller_epoch(1)[1]


def test_topics(zk: KafkaZkClient) -> None:
    topic_id = uuid.random_uuid()
    zk.create_topic_assignment("t", topic_id, {0: [1, 2], 1: [2, 1]})
    zk.create_topic_assignment("old", None, {0: [1]})
    zk.create_topic_assignment("t", topic_id, {0: [1, 2], 1: [2, 1]})  # a repeated try of our own
    with pytest.raises(NodeExistsError):
        zk.create_topic_assignment("t", uuid.random_uuid(), {0: [1]})
    with pytest.raises(NodeExistsError):
        zk.create_topic_assignment("old", None, {0: [1]})
    assert zk.get_all_topics_in_cluster() == {"t", "old"}
    assert zk.path_exists(TopicZNode.path("t"))
    assert not zk.path_exists(TopicZNode.path("missing"))
    assert zk.get_topic_ids_for_topics(["t", "old", "missing"]) == {"t": topic_id}
    found, old = zk.get_replica_assignment_and_topic_id_for_topics(["t", "missing", "old"])
    assert found.assignment == {0: ReplicaAssignment((1, 2)), 1: ReplicaAssignment((2, 1))}
    epoch_version = elected(zk)
    (updated,) = zk.set_topic_ids([old], epoch_version)
    assert updated.topic_id is not None
    assert zk.get_topic_ids_for_topics(["old"]) == {"old": updated.topic_id}
    moving = {0: ReplicaAssignment((1, 2), (2,))}
    zk.set_topic_assignment("t", topic_id, moving, epoch_version)
    assert zk.get_full_replica_assignment_for_topics(["t"]) == {TopicPartition("t", 0): moving[0]}
    with pytest.raises(NoNodeError):
        zk.set_topic_assignment("missing", None, {})
    with pytest.raises(ControllerMovedError):
        zk.set_topic_assignment("t", topic_id, moving, epoch_version - 1)


def state(leader: int, isr: tuple[int, ...], epoch: int = 0, partition_epoch: int = 0) -> LeaderAndIsr:
    return LeaderAndIsr(leader, isr, epoch, partition_epoch=partition_epoch)


def test_partition_states(zk: KafkaZkClient) -> None:
    version = elected(zk)
    zk.create_topic_assignment("t", uuid.random_uuid(), {0: [1, 2], 1: [2, 1]})
    t0, t1, t2, missing = (TopicPartition("t", p) for p in (0, 1, 2, 9))
    first = LeaderIsrAndControllerEpoch(state(1, (1, 2)), 1)
    second = LeaderIsrAndControllerEpoch(state(2, (2, 1)), 1)
    assert zk.create_topic_partition_states({t0: first, t1: second}, version) == {t0: None, t1: None}
    created = zk.create_topic_partition_states({t1: first, t2: first}, version)
    assert isinstance(created[t1], NodeExistsError)
    assert created[t2] is None
    assert zk.create_topic_partition_states({}, version) == {}
    assert zk.get_topic_partition_states([t0, t1, missing]) == {t0: first, t1: second}

    result = zk.update_leader_and_isr(
        {t0: state(2, (2,), 1), t1: state(1, (1,), 1, 5), missing: state(1, (1,))}, 4, version
    )
    assert result.finished_partitions[t0] == state(2, (2,), 1, 1)
    assert result.partitions_to_retry == [t1]
    assert isinstance(result.finished_partitions[missing], NoNodeError)
    assert zk.get_topic_partition_states([t0])[t0] == LeaderIsrAndControllerEpoch(state(2, (2,), 1, 1), 4)

    with pytest.raises(ControllerMovedError):
        zk.update_leader_and_isr({t0: state(1, (1,), 2, 1)}, 5, version + 1)
    with pytest.raises(ControllerMovedError):
        zk.create_topic_partition_states({missing: first}, version + 1)


def test_topic_deletion(zk: KafkaZkClient) -> None:
    version = elected(zk)
    zk.create_topic_assignment("t", uuid.random_uuid(), {0: [1], 1: [1]})
    partition_state = LeaderIsrAndControllerEpoch(state(1, (1,)), 1)
    zk.create_topic_partition_states({TopicPartition("t", p): partition_state for p in (0, 1)}, version)
    zk.set_or_create_entity_configs("topics", "t", {})
    assert "t" not in zk.get_topic_deletions()
    zk.create_delete_topic_paths(["t"])
    assert zk.create_delete_topic_paths(["t"]) == {}, "asked for already"
    assert "t" in zk.get_topic_deletions()
    assert zk.get_topic_deletions() == ["t"]
    with pytest.raises(ControllerMovedError):
        zk.delete_topic_znode("t", version + 1)
    assert zk.path_exists(TopicZNode.path("t"))
    for _ in range(2):  # a controller that failed over does it again
        zk.delete_topic_znode("t", version)
        zk.delete_topic_configs(["t"], version)
        zk.delete_topic_deletions(["t"], version)
    assert (zk.get_all_topics_in_cluster(), zk.get_topic_deletions()) == (set(), [])
    assert zk.get_all_entities_with_config("topics") == []


def test_configs(zk: KafkaZkClient) -> None:
    with pytest.raises(ControllerMovedError, match="there is no controller"):
        zk.set_or_create_entity_configs("topics", "t", {})
    elected(zk)
    assert zk.get_entity_configs("topics", "t") == {}
    zk.set_or_create_entity_configs("topics", "t", {"retention.ms": "1"})
    zk.set_or_create_entity_configs("topics", "t", {"retention.ms": "2"})
    zk.set_or_create_entity_configs("users", "alice/clients/<default>", {"request_percentage": "50.0"})
    assert zk.get_entities_configs("topics", ["t", "x"]) == {"t": {"retention.ms": "2"}, "x": {}}
    assert zk.get_entity_configs("users", "alice") == {}
    assert zk.get_entity_configs("users", "alice/clients/<default>") == {"request_percentage": "50.0"}
    assert zk.get_all_entities_with_config("topics") == ["t"]
    assert zk.get_data_and_version("/config/users/alice") == (None, 0)
    zk.create_config_change_notification("topics/t")
    assert read(zk, "/config/changes/config_change_0000000000") == {"version": 2, "entity_path": "topics/t"}
    data = zk.get_data_and_ctime("/config/changes/config_change_0000000000")
    assert data is not None
    assert abs(data[1] / 1000 - time.time()) < 60
    assert zk.get_data_and_ctime("/config/changes/x") is None


def test_configs_of_many_topics(zk: KafkaZkClient) -> None:
    elected(zk)
    zk.set_or_create_entity_configs("topics", "t0", {"retention.ms": "1"})
    configs = {f"t{n}": {"retention.ms": str(n)} for n in range(120)}
    assert zk.set_or_create_configs_of_topics(configs) == {}
    assert zk.get_entities_configs("topics", configs) == configs
    zk.create_config_change_notification("topics/t0", "topics/t1")
    assert read(zk, "/config/changes/config_change_0000000001") == {"version": 2, "entity_path": "topics/t1"}


def test_kraft_controller_bars_config_writes(zk: KafkaZkClient) -> None:
    zk.create_recursive("/controller", b'{"version":2,"brokerid":1,"timestamp":"1","kraftControllerEpoch":3}')
    with pytest.raises(ControllerMovedError, match="KRaft"):
        zk.set_or_create_entity_configs("topics", "t", {})


def test_notifications(zk: KafkaZkClient) -> None:
    version = elected(zk)
    seen = threading.Event()
    zk.register_znode_child_change_handler(ZNodeChildChangeHandler("/log_dir_event_notification", seen.set))
    assert zk.get_all_log_dir_event_notifications() == []
    zk.propagate_log_dir_event(2)
    assert seen.wait(HANG_SECONDS)
    zk.propagate_log_dir_event(3)
    names = sorted(zk.get_all_log_dir_event_notifications())
    assert names == ["0000000000", "0000000001"]
    assert zk.get_broker_ids_from_log_dir_events(names) == [2, 3]
    zk.delete_log_dir_event_notifications(version, names[:1])
    assert zk.get_all_log_dir_event_notifications() == names[1:]
    zk.delete_log_dir_event_notifications(version)
    assert zk.get_all_log_dir_event_notifications() == []

    zk.propagate_isr_changes([TopicPartition("t", 0)])
    names = zk.get_all_isr_change_notifications()
    assert zk.get_partitions_from_isr_change_notifications(names) == [TopicPartition("t", 0)]
    with pytest.raises(ControllerMovedError):
        zk.delete_isr_change_notifications(version + 1)
    zk.delete_isr_change_notifications(version, names)
    assert zk.get_all_isr_change_notifications() == []


def test_legacy_admin_nodes(zk: KafkaZkClient) -> None:
    version = elected(zk)
    partition = TopicPartition("t", 0)
    assert zk.get_partition_reassignment() == {}
    zk.set_or_create_partition_reassignment({partition: [1]}, version)
    zk.set_or_create_partition_reassignment({partition: [1, 2]}, version)
    assert zk.get_partition_reassignment() == {partition: [1, 2]}
    zk.delete_partition_reassignment(version)
    zk.delete_partition_reassignment(version)
    assert zk.get_partition_reassignment() == {}
    assert zk.get_preferred_replica_election() == set()
    zk.create_recursive(
        "/admin/preferred_replica_election", b'{"version":1,"partitions":[{"topic":"t","partition":0}]}'
    )
    assert zk.get_preferred_replica_election() == {partition}
    zk.delete_preferred_replica_election(MATCH_ANY_VERSION)
    assert zk.get_preferred_replica_election() == set()


def test_compare_and_set(zk: KafkaZkClient, zk2: KafkaZkClient) -> None:
    path = ProducerIdBlockZNode.path
    first = ProducerIdBlockZNode.encode(ProducerIdsBlock(1, 0, 1000))
    second = ProducerIdBlockZNode.encode(ProducerIdsBlock(2, 1000, 1000))
    assert zk.get_data_and_version(path) == (None, 0)
    assert zk.conditional_update_path(path, first, 0) == (True, 1)
    assert zk2.conditional_update_path(path, second, 0) == (False, UNKNOWN_VERSION)
    assert zk.conditional_update_path(path, first, 0) == (True, 1), "our own lost try"
    assert zk2.conditional_update_path(path, second, 1) == (True, 2)
    assert zk.conditional_update_path("/missing", b"", 0) == (False, UNKNOWN_VERSION)
    assert zk.get_data_and_version("/missing") == (None, UNKNOWN_VERSION)
    assert zk.delete_path("/brokers")
    assert not zk.delete_path("/brokers")


def test_thousands_of_partitions(zk: KafkaZkClient) -> None:
    version = elected(zk)
    zk.create_topic_assignment("t", uuid.random_uuid(), {p: [1] for p in range(1000)})
    partitions = [TopicPartition("t", p) for p in range(1000)]
    first = LeaderIsrAndControllerEpoch(state(1, (1,)), 1)
    assert set(zk.create_topic_partition_states(dict.fromkeys(partitions, first), version).values()) == {None}
    assert len(zk.get_topic_partition_states(partitions)) == 1000
