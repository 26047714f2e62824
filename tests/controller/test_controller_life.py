"""Election, failover, fencing, session expiry, resignation."""

from __future__ import annotations

import threading

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.zk.zk_data import ControllerZNode
from tests.controller.controller_cluster import Cluster
from tests.waiting import HANG_SECONDS

T0 = TopicPartition("t", 0)


def test_first_broker_becomes_controller_with_kafkas_writes() -> None:
    cluster = Cluster(1)
    assert cluster.controller.is_active
    assert cluster.controller.controller_id == 1
    assert cluster.controller.epoch == 1
    registration, update, epoch, controller, new_epoch, feature = cluster.zookeeper.take_writes()
    assert registration == "create /brokers/ids/1"
    assert update.startswith('set /brokers/ids/1 {"')
    assert epoch == "create /controller_epoch 0"
    assert controller.startswith('create /controller {"version":2,"brokerid":1,"timestamp":"')
    assert new_epoch == "set /controller_epoch 1"
    assert feature == 'create /feature {"version":2,"status":1,"features":{}}'


def test_first_word_to_the_brokers_is_who_is_live() -> None:
    cluster = Cluster(1, 2)
    sent = cluster.channel.take_sent()
    assert [broker_id for broker_id, _ in sent] == [1, 2]
    for broker_id, request in sent:
        assert isinstance(request, UpdateMetadataRequest)
        assert request.controller_id == 1
        assert request.controller_epoch == 1
        assert request.broker_epoch == cluster.members[broker_id].epoch
        assert [(b.id, b.rack, b.endpoints[0].port) for b in request.live_brokers] == [(1, "r1", 9001), (2, "r2", 9002)]
        end_point = request.live_brokers[0].endpoints[0]
        assert (end_point.listener, end_point.host, end_point.security_protocol) == ("PLAINTEXT", "127.0.0.1", 0)


def test_the_others_wait_and_know_the_controller() -> None:
    cluster = Cluster(1, 2, 3)
    assert [m.controller.is_active for m in cluster.members.values()] == [True, False, False]
    assert [m.controller.controller_id for m in cluster.members.values()] == [1, 1, 1]
    assert cluster.members[2].controller.epoch == 0


def test_failover_goes_on_where_the_last_controller_stopped() -> None:
    cluster = Cluster(1, 2, 3)
    cluster.create_topic("t", {0: [1, 2, 3], 1: [2, 3, 1]})
    cluster.create_topic("alone", {0: [1]})
    cluster.forget()
    cluster.kill(1)
    cluster.settle()
    assert cluster.active.id == 2
    assert cluster.controller.epoch == 2
    writes = cluster.zookeeper.take_writes()
    assert [w.split(" {")[0] for w in writes] == [
        "create /controller",
        "set /controller_epoch 2",
        "*set /brokers/topics/t/partitions/0/state",
        "*set /brokers/topics/alone/partitions/0/state",
        "*set /brokers/topics/t/partitions/1/state",
    ]
    assert (cluster.state("t", 0).leader, cluster.state("t", 0).isr) == (2, (2, 3))
    assert (cluster.state("t", 1).leader, cluster.state("t", 1).isr) == (2, (2, 3))
    assert (cluster.state("alone", 0).leader, cluster.state("alone", 0).isr) == (-1, (1,))
    summary = cluster.channel.take_summary()
    assert summary[0] == "2 UpdateMetadata"
    assert summary[2:4] == ["2 LeaderAndIsr t-0:2[2,3]@1", "3 LeaderAndIsr t-0:2[2,3]@1"], "leaders come first"


def test_failover_never_tells_of_a_part_of_a_topic() -> None:
    """A broker that has just started would take it for the whole, and groups to be kept elsewhere than they are."""
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1, 2], 1: [2, 1], 2: [1, 2]})
    cluster.forget()
    cluster.kill(1)
    cluster.settle()
    told = [
        [state.partition_index for topic in request.topic_states for state in topic.partition_states]
        for _, request in cluster.channel.take_sent()
        if isinstance(request, UpdateMetadataRequest)
    ]
    assert told[0] == []
    assert [sorted(partitions) for partitions in told[1:3]] == [[0, 1, 2]] * 2


def test_failover_takes_nothing_from_partitions_that_are_well() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [2]})
    before = cluster.state("t", 0)
    cluster.forget()
    cluster.kill(1)
    cluster.settle()
    assert cluster.state("t", 0) == before
    assert len(cluster.zookeeper.take_writes()) == 2
    assert "2 LeaderAndIsr t-0:2[2]@0" in cluster.channel.take_summary()


def test_notifications_from_before_are_deleted_at_failover() -> None:
    cluster = Cluster(1, 2)
    cluster.active.channel.sent.clear()
    cluster.members[2].zk.propagate_log_dir_event(2)
    cluster.members[2].zk.propagate_isr_changes([T0])
    cluster.kill(1)
    cluster.forget()
    cluster.settle()
    deleted = [w for w in cluster.zookeeper.take_writes() if "delete" in w]
    assert deleted == [
        "*delete /log_dir_event_notification/log_dir_event_0000000000",
        "*delete /isr_change_notification/isr_change_0000000000",
    ]


def test_a_controller_that_was_replaced_is_fenced_and_resigns() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1, 2]})
    old = cluster.members[1]
    # Broker 1 has not heard that its node is gone and broker 2 is controller.
    old.client._watches.discard((ControllerZNode.path, "data"))
    cluster.zookeeper._delete(ControllerZNode.path)
    cluster.members[2].controller.events.process_all()
    assert old.controller.is_active and cluster.members[2].controller.is_active
    state = cluster.state("t", 0)
    answers: list[dict[TopicPartition, KafkaError | None] | KafkaError] = []
    old.controller.alter_partition_reassignments({T0: [2, 1]}.items(), answers.append)
    old.controller.events.process_all()
    assert [answer.error for answer in answers if isinstance(answer, KafkaError)] == [Errors.NOT_CONTROLLER]
    assert len(answers) == 1
    assert not old.controller.is_active
    assert old.controller.controller_id == 2
    assert old.controller.epoch == 0
    assert old.channel.brokers == set()
    assert cluster.state("t", 0) == state


def test_resigned_controller_watches_nothing_but_the_controller() -> None:
    cluster = Cluster(1, 2)
    cluster.create_topic("t", {0: [1, 2]})
    member = cluster.members[1]
    assert member.client.registered_paths == {
        "/controller",
        "/brokers/ids",
        "/brokers/ids/1",
        "/brokers/ids/2",
        "/brokers/topics",
        "/brokers/topics/t",
        "/admin/delete_topics",
        "/isr_change_notification",
        "/log_dir_event_notification",
        "/admin/reassign_partitions",
        "/admin/preferred_replica_election",
    }
    cluster.zookeeper._delete(ControllerZNode.path)
    cluster.members[2].controller.events.process_all()
    member.controller.events.process_all()
    assert member.client.registered_paths == {"/controller"}
    assert list(member.controller.context.all_partitions()) == []


def test_a_controller_node_that_is_deleted_by_hand_leads_to_an_election() -> None:
    cluster = Cluster(1)
    cluster.zookeeper._delete(ControllerZNode.path)
    cluster.settle()
    assert cluster.controller.epoch == 2
    assert cluster.zookeeper.json("/controller_epoch") == "2"


def test_an_error_during_failover_gives_the_office_back() -> None:
    cluster = Cluster()
    member = cluster.start(1)
    failing = iter([True])

    def before_write(path: str) -> None:
        if path == "/feature" and next(failing, False):
            raise RuntimeError("no")

    cluster.zookeeper.before_write = before_write
    cluster.settle()
    assert member.controller.is_active
    assert member.controller.epoch == 2
    assert any(w == "*delete /controller" for w in cluster.zookeeper.take_writes())


def test_expired_session_resigns_before_and_registers_again_after() -> None:
    cluster = Cluster(1)
    cluster.create_topic("t", {0: [1]})
    member = cluster.members[1]
    old_epoch = member.epoch
    member.controller.events.start()
    was_active_before = []
    member.zk.register_state_change_handler(
        type(next(iter(member.client._state_change_handlers.values())))(
            "test", before_initializing_session=lambda: was_active_before.append(member.controller.is_active)
        )
    )
    member.client.lose_session()
    done = threading.Event()
    member.controller.list_partition_reassignments(None, lambda _: done.set())
    assert done.wait(HANG_SECONDS)
    assert was_active_before == [False]
    assert member.controller.is_active
    assert member.controller.epoch == 2
    assert member.registered == [member.controller.broker_epoch]
    assert member.controller.broker_epoch > old_epoch
    member.controller.shutdown()
    assert not member.controller.events._thread.is_alive()


def test_requests_are_answered_not_controller_when_preempted_or_inactive() -> None:
    cluster = Cluster(1, 2)
    answers: list[object] = []
    inactive = cluster.members[2].controller
    inactive.list_partition_reassignments(None, answers.append)
    inactive.controlled_shutdown(1, -1, answers.append)
    cluster.settle()
    assert [a.error for a in answers if isinstance(a, KafkaError)] == [
        Errors.NOT_CONTROLLER,
        Errors.STALE_CONTROLLER_EPOCH,
    ]
    answers.clear()
    cluster.controller.list_partition_reassignments(None, answers.append)
    cluster.controller.shutdown()
    assert [a.error for a in answers if isinstance(a, KafkaError)] == [Errors.NOT_CONTROLLER]


def test_each_change_of_the_controller_is_one_line_of_each_broker(caplog: pytest.LogCaptureFixture) -> None:
    cluster = Cluster(1, 2, 3)
    caplog.set_level("INFO", "kafkapy.controller")
    caplog.clear()
    cluster.kill(1)
    cluster.settle()
    lines = [record.getMessage() for record in caplog.records if "is the controller now" in record.getMessage()]
    assert lines == [
        "Broker 2 is the controller now, of epoch 2, because the node /controller of broker 1 was gone: "
        "it takes over the cluster's state from ZooKeeper",
        "Broker 2 is the controller now, after broker 1, whose session or node is gone",
    ]
