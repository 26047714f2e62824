"""Brokers that come, go, restart, change, shut down or lose a log directory."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kafkapy.common.broker import EndPoint
from kafkapy.common.leader_and_isr import LeaderRecoveryState
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.controller.states import PartitionState
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrResponse
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.zk.zk_data import BrokerInfo
from tests.controller.controller_cluster import Cluster


def leader_and_isr(cluster: Cluster, topic: str, partition: int = 0) -> tuple[int, tuple[int, ...], int]:
    state = cluster.state(topic, partition)
    return state.leader, state.isr, state.leader_epoch


# --- failure and return ---------------------------------------------------------------------------------------------


def test_a_dead_leader_is_replaced_in_one_write() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [3, 1, 2], 1: [1, 3, 2], 2: [3]})
    cluster.forget()
    cluster.kill(3)
    cluster.settle()
    assert [w.split(" {")[0] for w in cluster.zookeeper.take_writes()] == [
        "*set /brokers/topics/t/partitions/0/state",
        "*set /brokers/topics/t/partitions/1/state",
        "*set /brokers/topics/t/partitions/2/state",
    ]
    assert leader_and_isr(cluster, "t", 0) == (1, (1, 2), 1)
    assert leader_and_isr(cluster, "t", 1) == (1, (1, 2), 1)
    assert leader_and_isr(cluster, "t", 2) == (-1, (3,), 1)
    summary = cluster.channel.take_summary()
    assert summary[:4] == [
        "1 LeaderAndIsr t-0:1[1,2]@1",
        "2 LeaderAndIsr t-0:1[1,2]@1",
        "1 UpdateMetadata t-0:1[1,2]@1",
        "2 UpdateMetadata t-0:1[1,2]@1",
    ]
    assert cluster.controller.context.offline_partition_count == 1
    assert 3 not in cluster.channel.brokers


def test_a_broker_that_is_back_hears_everything_and_no_state_is_written() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [1, 2], 1: [1]})
    cluster.kill(2)
    cluster.settle()
    before = cluster.state("t", 0)
    cluster.forget()
    cluster.start(2)
    cluster.settle()
    assert cluster.state("t", 0) == before
    assert cluster.channel.take_summary() == [
        "1 UpdateMetadata",
        "3 UpdateMetadata",
        "2 UpdateMetadata t-0:1[1]@1 t-1:1[1]@0",
        "2 LeaderAndIsr t-0:1[1]@1",
        "1 UpdateMetadata t-0:1[1]@1",
        "3 UpdateMetadata t-0:1[1]@1",
        "2 UpdateMetadata t-0:1[1]@1",
    ]


def test_the_sole_replica_is_leader_again_when_it_is_back() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [2]})
    cluster.kill(2)
    cluster.settle()
    assert leader_and_isr(cluster, "t") == (-1, (2,), 1)
    cluster.start(2)
    cluster.settle()
    assert leader_and_isr(cluster, "t") == (2, (2,), 2)
    assert cluster.controller.context.partition_state(TopicPartition("t", 0)) is PartitionState.ONLINE


def test_a_broker_that_was_not_in_sync_does_not_lead() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [2, 1]})
    cluster.alter_isr("t", 0, [2])
    cluster.kill(2)
    cluster.settle()
    assert leader_and_isr(cluster, "t") == (-1, (2,), 1)


def test_unclean_election_by_topic_config(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [2, 1]})
    config = b'{"version":1,"config":{"unclean.leader.election.enable":"true"}}'
    cluster.members[1].zk.create_recursive("/config/topics/t", config)
    cluster.alter_isr("t", 0, [2])
    cluster.kill(2)
    cluster.settle()
    assert leader_and_isr(cluster, "t") == (1, (1,), 1)
    assert cluster.state("t", 0).leader_recovery_state is LeaderRecoveryState.RECOVERING
    assert "UNCLEAN" in caplog.text


def test_unclean_election_by_default_can_be_enabled_later() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [2, 1]})
    cluster.create_topic("strict", {0: [2, 1]})
    config = b'{"version":1,"config":{"unclean.leader.election.enable":"false"}}'
    cluster.members[1].zk.create_recursive("/config/topics/strict", config)
    cluster.alter_isr("t", 0, [2])
    cluster.alter_isr("strict", 0, [2])
    cluster.kill(2)
    cluster.settle()
    assert leader_and_isr(cluster, "t")[0] == -1
    cluster.controller.enable_default_unclean_leader_election()
    cluster.settle()
    assert leader_and_isr(cluster, "t")[:2] == (1, (1,))
    assert leader_and_isr(cluster, "strict")[:2] == (-1, (2,))
    cluster.members[1].zk.set_data("/config/topics/strict", config.replace(b"false", b"true"))
    cluster.controller.enable_topic_unclean_leader_election("strict")
    cluster.settle()
    assert leader_and_isr(cluster, "strict")[:2] == (1, (1,))


def test_a_restart_within_the_watch_is_death_and_return() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [2, 1]})
    old = cluster.kill(2)
    cluster.start(2)
    cluster.forget()
    cluster.settle()
    assert leader_and_isr(cluster, "t") == (1, (1,), 1)
    requests = [request for broker_id, request in cluster.channel.take_sent() if broker_id == 2]
    assert requests and all(r.broker_epoch == cluster.members[2].epoch > old.epoch for r in requests)
    assert cluster.controller.context.live_broker_epochs[2] == cluster.members[2].epoch


def test_a_change_between_decision_and_write_is_read_and_decided_anew() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [3, 1, 2]})
    path = "/brokers/topics/t/partitions/0/state"
    changes = iter([cluster.zookeeper.json(path).replace("[3,1,2]", "[3,2]")])

    def somebody_else_writes(written: str) -> None:
        change = next(changes, None) if written == path else None
        if change:
            node = cluster.zookeeper.node(path)
            node.data, node.version = change.encode(), node.version + 1

    cluster.zookeeper.before_write = somebody_else_writes
    cluster.kill(3)
    cluster.settle()
    assert leader_and_isr(cluster, "t") == (2, (2,), 1)


def test_new_listeners_reach_everybody() -> None:
    cluster = Cluster(1, 2)
    cluster.forget()
    member = cluster.members[2]
    end_points = (*member.info.broker.end_points, EndPoint("10.0.0.2", 9999, "EXTERNAL", "SASL_SSL"))
    member.controller.update_broker_info(BrokerInfo(replace(member.info.broker, end_points=end_points)))
    cluster.settle()
    sent = cluster.channel.take_sent()
    assert [broker_id for broker_id, _ in sent] == [1, 2]
    for _, request in sent:
        assert isinstance(request, UpdateMetadataRequest)
        end_point = request.live_brokers[1].endpoints[1]
        assert (end_point.listener, end_point.host, end_point.port, end_point.security_protocol) == (
            "EXTERNAL",
            "10.0.0.2",
            9999,
            3,
        )
    member.controller.update_broker_info(BrokerInfo(replace(member.info.broker, end_points=end_points)))
    cluster.settle()
    assert cluster.channel.take_sent() == []
    assert cluster.controller.context.live_broker_epochs[2] == member.epoch


# --- log directories ------------------------------------------------------------------------------------------------


def test_a_failed_log_directory_is_like_a_dead_broker_for_its_replicas_only() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("moved", {0: [2, 1]})
    cluster.create_topic("lost", {0: [2]})
    cluster.create_topic("fine", {0: [2]})
    cluster.channel.storage_errors |= {(2, TopicPartition("moved", 0)), (2, TopicPartition("lost", 0))}
    cluster.forget()
    cluster.members[2].zk.propagate_log_dir_event(2)
    cluster.settle()
    writes = [w.split(" {")[0] for w in cluster.zookeeper.take_writes()]
    assert writes == [
        "create /log_dir_event_notification/log_dir_event_0000000000",
        "*delete /log_dir_event_notification/log_dir_event_0000000000",
        "*set /brokers/topics/moved/partitions/0/state",
        "*set /brokers/topics/lost/partitions/0/state",
    ]
    assert leader_and_isr(cluster, "moved") == (1, (1,), 1)
    assert leader_and_isr(cluster, "lost") == (-1, (2,), 1)
    assert leader_and_isr(cluster, "fine") == (2, (2,), 0)
    offline = [
        (topic.topic_name, state.offline_replicas)
        for broker_id, request in cluster.channel.take_sent()
        if broker_id == 1 and isinstance(request, UpdateMetadataRequest)
        for topic in request.topic_states
        for state in topic.partition_states
    ]
    assert ("moved", [2]) in offline and ("lost", [2]) in offline
    # The disk is replaced, the broker restarted.
    cluster.channel.storage_errors.clear()
    cluster.kill(2)
    cluster.settle()
    cluster.start(2)
    cluster.settle()
    assert leader_and_isr(cluster, "lost")[0] == 2
    assert cluster.controller.context.replicas_on_offline_dirs.get(2, set()) == set()


def test_a_refused_leader_and_isr_request_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(1)
    response = LeaderAndIsrResponse(error_code=Errors.STALE_BROKER_EPOCH.code)
    cluster.controller.leader_and_isr_response_received(response, 1)
    cluster.settle()
    assert "STALE_BROKER_EPOCH" in caplog.text


# --- controlled shutdown --------------------------------------------------------------------------------------------


def shut_down(cluster: Cluster, broker_id: int, epoch: int | None = None) -> set[TopicPartition] | KafkaError:
    answers: list[set[TopicPartition] | KafkaError] = []
    known = cluster.members[broker_id].epoch if broker_id in cluster.members else 0
    cluster.controller.controlled_shutdown(broker_id, known if epoch is None else epoch, answers.append)
    cluster.settle()
    (answer,) = answers
    return answer


def test_controlled_shutdown_moves_leaders_and_leaves_the_isrs_in_one_write_each() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [2, 3, 1], 1: [3, 2], 2: [2]})
    cluster.forget()
    assert shut_down(cluster, 2) == set()
    assert leader_and_isr(cluster, "t", 0) == (3, (3, 1), 1)
    assert leader_and_isr(cluster, "t", 1) == (3, (3,), 1)
    assert leader_and_isr(cluster, "t", 2) == (2, (2,), 0)
    assert len(cluster.zookeeper.take_writes()) == 2
    summary = cluster.channel.take_summary()
    assert sorted(summary[:3]) == [
        "1 LeaderAndIsr t-0:3[3,1]@1",
        "2 LeaderAndIsr t-0:3[3,1]@1",
        "3 LeaderAndIsr t-0:3[3,1]@1",
    ]
    assert "2 StopReplica t-1:stop@0" in summary
    cluster.forget()
    cluster.kill(2)
    cluster.settle()
    assert leader_and_isr(cluster, "t", 0) == (3, (3, 1), 1)
    assert leader_and_isr(cluster, "t", 2) == (-1, (2,), 1)
    assert cluster.controller.context.shutting_down_broker_ids == set()


def test_controlled_shutdown_names_what_nobody_else_can_lead() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [2, 1]})
    cluster.alter_isr("t", 0, [2])
    assert shut_down(cluster, 2) == {TopicPartition("t", 0)}
    assert leader_and_isr(cluster, "t") == (2, (2,), 0)


def test_controlled_shutdown_of_the_only_broker_is_quick() -> None:
    cluster = Cluster(1)
    cluster.create_topic("t", {0: [1], 1: [1]})
    assert shut_down(cluster, 1) == set()
    assert leader_and_isr(cluster, "t", 1) == (1, (1,), 0)


def test_controlled_shutdown_of_an_earlier_life_or_an_unknown_broker_is_refused() -> None:
    cluster = Cluster(1, 2)
    stale = shut_down(cluster, 2, epoch=cluster.members[2].epoch - 1)
    assert isinstance(stale, KafkaError) and stale.error is Errors.STALE_BROKER_EPOCH
    unknown = shut_down(cluster, 9)
    assert isinstance(unknown, KafkaError) and unknown.error is Errors.BROKER_NOT_AVAILABLE
    assert shut_down(cluster, 2, epoch=-1) == set()


def test_a_broker_that_shuts_down_gets_no_new_leaders() -> None:
    cluster = Cluster(1, 2, 3)
    shut_down(cluster, 2)
    cluster.create_topic("t", {0: [2, 3]})
    assert leader_and_isr(cluster, "t") == (3, (3,), 0)


def test_features_that_a_broker_lacks_keep_it_out(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster()
    zk = cluster.start(1).zk
    zk.create_recursive("/feature", b'{"version":2,"status":1,"features":{"metadata.rock":{"max_version_level":2}}}')
    cluster.settle()
    assert cluster.controller.context.live_broker_epochs == {}
    assert "do not support the finalized features" in caplog.text
