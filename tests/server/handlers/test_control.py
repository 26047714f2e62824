"""LeaderAndIsr, StopReplica and UpdateMetadata: what this broker does at a controller's word."""

from __future__ import annotations

from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.manager.log_manager import LogManager
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.leader_and_isr import LeaderAndIsrRequest
from kafkapy.protocol.messages.stop_replica import StopReplicaRequest
from kafkapy.protocol.messages.update_metadata import UpdateMetadataRequest
from kafkapy.runtime.completion import Completion
from kafkapy.server.handlers import control
from kafkapy.server.handlers.control import LOG_MAKERS, ORDERS_PER_CHECKPOINT
from kafkapy.server.replication.leadership import PartitionOrder
from tests.server.broker_core import (
    BROKER_EPOCH,
    CONTROLLER_EPOCH,
    TOPIC,
    BrokerCore,
    MakeCore,
    live_broker,
    topic_id_of,
)

PARTITION = TopicPartition(TOPIC, 0)
LIVE = [live_broker(0)]


def order(
    leader: int = 0, epoch: int = 0, *, topic: str = TOPIC, replicas: tuple[int, ...] = (0,), index: int = 0
) -> LeaderAndIsrRequest.LeaderAndIsrPartitionState:
    return LeaderAndIsrRequest.LeaderAndIsrPartitionState(
        topic_name=topic,
        partition_index=index,
        controller_epoch=CONTROLLER_EPOCH,
        leader=leader,
        leader_epoch=epoch,
        isr=list(replicas),
        partition_epoch=epoch,
        replicas=list(replicas),
    )


def leader_and_isr(
    *orders: LeaderAndIsrRequest.LeaderAndIsrPartitionState,
    topic_id: bytes = ZERO_UUID,
    version: int = 5,
    controller_epoch: int = CONTROLLER_EPOCH,
    broker_epoch: int = BROKER_EPOCH,
) -> LeaderAndIsrRequest:
    request = LeaderAndIsrRequest(controller_epoch=controller_epoch, broker_epoch=broker_epoch)
    if version < 2:
        request.ungrouped_partition_states = list(orders)
    else:
        request.topic_states = [
            LeaderAndIsrRequest.LeaderAndIsrTopicState(
                topic_name=orders[0].topic_name, topic_id=topic_id, partition_states=list(orders)
            )
        ]
    return request


def command(core: BrokerCore, *orders: Any, version: int = 5, **fields: Any) -> list[Errors]:
    """Send LeaderAndIsr; the errors of its partitions."""
    response = core.controller.call(leader_and_isr(*orders, version=version, **fields), version)
    assert response.error_code == 0
    errors = response.partition_errors if version < 5 else response.topics[0].partition_errors
    return [Errors.for_code(e.error_code) for e in errors]


# -- LeaderAndIsr


@pytest.mark.parametrize("version", range(8))
def test_every_version_makes_leaders_and_followers(make_core: MakeCore, version: int) -> None:
    core = make_core(others=(1,))
    orders = [order(), order(1, replicas=(0, 1), index=1)]
    assert command(core, *orders, version=version) == [Errors.NONE, Errors.NONE]
    assert core.roles.changes == [([PARTITION], [TopicPartition(TOPIC, 1)])]
    assert core.partition().is_leader
    assert not core.partition(index=1).is_leader
    assert core.partition(index=1).leader_id == 1


def test_versions_from_5_on_answer_by_topic_id(core: BrokerCore) -> None:
    topic_id = topic_id_of("new")
    response = core.controller.call(leader_and_isr(order(topic="new"), topic_id=topic_id), 5)
    assert [t.topic_id for t in response.topics] == [topic_id]
    response = core.controller.call(leader_and_isr(order(topic="newer"), version=4), 4)
    assert [(p.topic_name, p.partition_index) for p in response.partition_errors] == [("newer", 0)]


def test_an_old_controller_is_refused_as_a_whole(core: BrokerCore) -> None:
    command(core, order(epoch=1), controller_epoch=5, topic_id=topic_id_of(TOPIC))
    response = core.controller.call(leader_and_isr(order(epoch=9), controller_epoch=4), 5)
    assert Errors.for_code(response.error_code) is Errors.STALE_CONTROLLER_EPOCH
    assert [p.error_code for p in response.topics[0].partition_errors] == [response.error_code]
    assert core.partition().leader_epoch == 1
    core.controller.call(leader_and_isr(order(topic="gone"), controller_epoch=4), 5)
    assert core.log_manager.get_log(TopicPartition("gone", 0)) is None


def test_what_was_meant_for_this_brokers_former_life_is_refused(core: BrokerCore) -> None:
    response = core.controller.call(leader_and_isr(order(epoch=9), broker_epoch=BROKER_EPOCH - 1), 5)
    assert (Errors.for_code(response.error_code), response.topics) == (Errors.STALE_BROKER_EPOCH, [])
    assert command(core, order(epoch=9), broker_epoch=BROKER_EPOCH + 1) == [Errors.NONE]
    assert command(core, order(epoch=10), broker_epoch=-1) == [Errors.NONE]


def test_equal_and_older_leader_epochs_change_nothing(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    assert command(core, order(epoch=3, replicas=(0, 1))) == [Errors.NONE]
    for epoch in (3, 2):
        assert command(core, order(1, epoch, replicas=(0, 1))) == [Errors.STALE_CONTROLLER_EPOCH]
    assert core.partition().is_leader


def test_an_older_state_with_a_newer_leader_epoch_changes_nothing(core: BrokerCore) -> None:
    core.partition().partition_epoch = 20
    assert command(core, order(epoch=9), topic_id=topic_id_of(TOPIC)) == [Errors.NONE]
    assert core.partition().leader_epoch == 0


def test_a_topic_id_may_come_later_and_never_changes(make_core: MakeCore) -> None:
    core = make_core()
    assert command(core, order(), version=4) == [Errors.NONE]
    assert not (core.directory / "logs" / "t-0" / "partition.metadata").exists()
    topic_id = topic_id_of(TOPIC)
    assert command(core, order(), topic_id=topic_id) == [Errors.NONE]
    assert core.partition().topic_id == topic_id
    core.advance(1000)
    assert (core.directory / "logs" / "t-0" / "partition.metadata").exists()
    assert command(core, order(), topic_id=topic_id) == [Errors.STALE_CONTROLLER_EPOCH]
    assert command(core, order(epoch=1), topic_id=b"other" + bytes(11)) == [Errors.INCONSISTENT_TOPIC_ID]
    assert command(core, order(epoch=2), version=4) == [Errors.NONE]


def test_a_log_of_another_life_of_the_topic_is_not_taken(core: BrokerCore) -> None:
    core.replicas.remove_partition(PARTITION)
    assert command(core, order(), topic_id=b"other" + bytes(11)) == [Errors.INCONSISTENT_TOPIC_ID]


def test_a_broker_that_is_no_replica(core: BrokerCore) -> None:
    assert command(core, order(1, replicas=(1, 2), topic="u")) == [Errors.UNKNOWN_TOPIC_OR_PARTITION]
    assert core.replicas.partition(TopicPartition("u", 0)) is None


def test_a_partition_in_a_failed_directory(core: BrokerCore) -> None:
    core.log_manager.async_delete(PARTITION)  # as it seems where the dir can't be read
    core.replicas.mark_offline([PARTITION])
    assert command(core, order(epoch=1)) == command(core, order()) == [Errors.KAFKA_STORAGE_ERROR]
    assert core.log_manager.get_log(PARTITION) is None
    with pytest.raises(KafkaError) as refusal:
        core.partition()
    assert refusal.value.error is Errors.KAFKA_STORAGE_ERROR


def test_callbacks_tell_only_of_changes(make_core: MakeCore) -> None:
    core = make_core(others=(1,))
    for leader, epoch in ((0, 0), (0, 1), (1, 2), (1, 3), (0, 4)):
        command(core, order(leader, epoch, replicas=(0, 1)))
    assert core.roles.changes == [
        ([PARTITION], []),
        ([], [PARTITION]),
        ([], [PARTITION]),
        ([PARTITION], []),
    ]


def test_new_topics_come_with_their_configs(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(max_message_bytes="77")
    log = core.partition().log
    assert log is not None
    assert log.config.max_message_bytes == 77


def test_new_topics_come_with_their_throttles(make_core: MakeCore) -> None:
    core = make_core()
    core.topic_configs[TOPIC] = {"leader.replication.throttled.replicas": "*"}
    command(core, order())
    assert core.replicas.leader_quota.is_throttled(PARTITION)
    assert not core.throttles.follower.is_throttled(PARTITION)


@pytest.fixture
def second_checkpoint(core: BrokerCore, monkeypatch: pytest.MonkeyPatch) -> Completion[None]:
    """Orders wait for it at their second checkpoint."""
    checkpoint: Completion[None] = Completion()
    checkpoints = chain([Completion.of(None), checkpoint], repeat(Completion.of(None)))
    monkeypatch.setattr(core.time, "checkpoint", lambda: next(checkpoints))
    return checkpoint


def test_an_order_about_many_partitions_lets_others_be_served(
    core: BrokerCore, second_checkpoint: Completion[None]
) -> None:
    """What is ordered next does not overtake it, whatever connection it comes by."""
    many = ORDERS_PER_CHECKPOINT + 1
    request = leader_and_isr(*[order(topic="many", index=index) for index in range(many)], version=7)
    core.controller.send(request, 7)
    assert core.controller.response() is None
    assert core.partition("many", many - 2).is_leader
    other = core.connect("the same controller")
    last = StopReplicaRequest.StopReplicaPartitionState(partition_index=many - 1, delete_partition=True)
    state = StopReplicaRequest.StopReplicaTopicState(topic_name="many", partition_states=[last])
    stopping = StopReplicaRequest(controller_epoch=CONTROLLER_EPOCH, broker_epoch=BROKER_EPOCH, topic_states=[state])
    other.send(stopping, 3)
    assert other.response() is None
    second_checkpoint.set_result(None)
    errors = core.controller.response().topics[0].partition_errors
    assert [Errors.for_code(e.error_code) for e in errors] == [Errors.NONE] * many
    assert other.response().error_code == 0
    assert core.replicas.partition(TopicPartition("many", many - 1)) is None


def test_several_threads_make_the_logs_of_a_chunk(core: BrokerCore, monkeypatch: pytest.MonkeyPatch) -> None:
    shares: list[list[int]] = []

    def make_logs(log_manager: LogManager, new: list[PartitionOrder]) -> None:
        shares.append([order.partition.partition for order in new])

    monkeypatch.setattr(control, "_make_logs", make_logs)
    command(core, *[order(topic="many", index=index) for index in range(LOG_MAKERS + 1)])
    assert shares == [[0, LOG_MAKERS], *([n] for n in range(1, LOG_MAKERS))]


def test_an_order_that_another_controller_interrupts_is_fenced(
    core: BrokerCore, second_checkpoint: Completion[None]
) -> None:
    many = ORDERS_PER_CHECKPOINT + 1
    request = leader_and_isr(*[order(topic="many", index=index) for index in range(many)], version=7)
    core.controller.send(request, 7)
    core.replicas.controller_epoch = CONTROLLER_EPOCH + 1
    second_checkpoint.set_result(None)
    assert core.controller.response().error_code == Errors.STALE_CONTROLLER_EPOCH.code
    assert core.replicas.partition(TopicPartition("many", many - 1)) is None


@pytest.mark.parametrize("api", ["LeaderAndIsr", "StopReplica"])
def test_an_order_waits_for_what_a_thread_does_to_the_log(make_core: MakeCore, api: str) -> None:
    """It holds the log's lock, for which the order would wait on the reactor thread."""
    core = make_core(others=(1,))
    command(core, order(1, replicas=(0, 1)), topic_id=topic_id_of(TOPIC))
    cut = core.fetchers.work[PARTITION] = Completion()
    other = core.connect("another controller")
    if api == "LeaderAndIsr":
        core.controller.send(leader_and_isr(order(epoch=1, replicas=(0, 1)), topic_id=topic_id_of(TOPIC)), 5)
    else:
        partition = StopReplicaRequest.StopReplicaPartitionState(partition_index=0, delete_partition=True)
        topic = StopReplicaRequest.StopReplicaTopicState(topic_name=TOPIC, partition_states=[partition])
        request = StopReplicaRequest(controller_epoch=CONTROLLER_EPOCH, broker_epoch=BROKER_EPOCH, topic_states=[topic])
        core.controller.send(request, 3)
    other.send(leader_and_isr(order(epoch=2, replicas=(0, 1)), topic_id=topic_id_of(TOPIC)), 5)
    core.advance(1)
    assert core.controller.response() is None and other.response() is None, "nor does anything overtake it"
    assert core.partition().leader_epoch == 0
    del core.fetchers.work[PARTITION]
    cut.set_result(None)
    core.advance(1)
    assert core.controller.response().error_code == 0
    assert core.partition().leader_epoch == 2


# -- StopReplica


def stop(
    core: BrokerCore, delete: bool, *, version: int = 3, epoch: int = -1, topic: str = TOPIC, **fields: Any
) -> tuple[Errors, list[tuple[str, int, Errors]]]:
    request = StopReplicaRequest(**{"controller_epoch": CONTROLLER_EPOCH, "broker_epoch": BROKER_EPOCH, **fields})
    if version < 3:
        request.delete_partitions = delete
    if version == 0:
        request.ungrouped_partitions = [StopReplicaRequest.StopReplicaPartitionV0(topic_name=topic, partition_index=0)]
    elif version < 3:
        request.topics = [StopReplicaRequest.StopReplicaTopicV1(name=topic, partition_indexes=[0])]
    else:
        state = StopReplicaRequest.StopReplicaPartitionState(
            partition_index=0, leader_epoch=epoch, delete_partition=delete
        )
        request.topic_states = [StopReplicaRequest.StopReplicaTopicState(topic_name=topic, partition_states=[state])]
    response = core.controller.call(request, version)
    errors = [(p.topic_name, p.partition_index, Errors.for_code(p.error_code)) for p in response.partition_errors]
    return Errors.for_code(response.error_code), errors


def log_dirs(core: BrokerCore) -> list[str]:
    return sorted(path.name for path in Path(core.directory / "logs").iterdir() if path.is_dir())


@pytest.mark.parametrize("version", range(5))
def test_deletion_takes_partition_and_log(core: BrokerCore, version: int) -> None:
    assert stop(core, True, version=version) == (Errors.NONE, [(TOPIC, 0, Errors.NONE)])
    assert core.replicas.partition(PARTITION) is None
    assert core.roles.removed == [PARTITION]
    (left,) = log_dirs(core)
    assert left.endswith("-delete")
    core.advance(60_001)
    assert log_dirs(core) == []


def test_a_partition_that_is_only_stopped_stays(core: BrokerCore) -> None:
    core.append(b"a")
    assert stop(core, False) == (Errors.NONE, [(TOPIC, 0, Errors.NONE)])
    assert core.roles.removed == []
    core.high_watermarks.write(list(core.replicas.partitions()))
    assert (core.directory / "logs" / "replication-offset-checkpoint").read_text() == "0\n1\nt 0 1\n"


def test_a_stop_of_an_older_leader_epoch_is_refused(make_core: MakeCore) -> None:
    core = make_core()
    core.create_topic(epoch=5)
    assert stop(core, True, epoch=4)[1] == [(TOPIC, 0, Errors.FENCED_LEADER_EPOCH)]
    for during_delete in (-2, -1, 5):
        core.create_topic(epoch=5)
        assert stop(core, True, epoch=during_delete)[1] == [(TOPIC, 0, Errors.NONE)]


def test_a_log_without_a_partition_is_deleted_too(core: BrokerCore) -> None:
    core.replicas.remove_partition(PARTITION)
    assert stop(core, True)[1] == [(TOPIC, 0, Errors.NONE)]
    assert [name.endswith("-delete") for name in log_dirs(core)] == [True]
    assert stop(core, True, topic="unknown")[1] == [("unknown", 0, Errors.NONE)]


def test_old_controllers_and_old_lives_stop_nothing(core: BrokerCore) -> None:
    core.replicas.controller_epoch = 5
    assert stop(core, True, controller_epoch=4) == (Errors.STALE_CONTROLLER_EPOCH, [])
    assert stop(core, True, controller_epoch=5, broker_epoch=BROKER_EPOCH - 1) == (Errors.STALE_BROKER_EPOCH, [])
    assert core.partition().is_leader


def test_an_offline_partition_is_not_stopped(core: BrokerCore) -> None:
    core.replicas.mark_offline([PARTITION])
    assert stop(core, True)[1] == [(TOPIC, 0, Errors.KAFKA_STORAGE_ERROR)]


# -- UpdateMetadata


@pytest.mark.parametrize("version", range(9))
def test_every_version_updates_the_cache(make_core: MakeCore, version: int) -> None:
    core = make_core()
    state = UpdateMetadataRequest.UpdateMetadataPartitionState(
        topic_name=TOPIC, partition_index=0, leader=1, leader_epoch=4, isr=[1], replicas=[1, 2], offline_replicas=[2]
    )
    broker = live_broker(1)
    broker.v0_host, broker.v0_port = "host-1", 9093
    request = UpdateMetadataRequest(
        controller_id=3, controller_epoch=8, broker_epoch=BROKER_EPOCH, live_brokers=[broker]
    )
    if version < 5:
        request.ungrouped_partition_states = [state]
    else:
        request.topic_states = [
            UpdateMetadataRequest.UpdateMetadataTopicState(
                topic_name=TOPIC, topic_id=topic_id_of(TOPIC), partition_states=[state]
            )
        ]
    assert core.controller.call(request, version).error_code == 0
    cache = core.cache
    assert (cache.controller_id, cache.controller_epoch) == (3, 8)
    assert cache.topic_id(TOPIC) == (topic_id_of(TOPIC) if version >= 7 else ZERO_UUID)
    found = cache.partition_state(TOPIC, 0)
    assert found is not None
    assert (found.leader, found.leader_epoch, found.isr, found.replicas) == (1, 4, [1], [1, 2])
    assert found.offline_replicas == ([2] if version >= 4 else [])
    assert [(n.id, n.host, n.port) for n in cache.alive_nodes("PLAINTEXT")] == [(1, "host-1", 9093)]
    assert cache.alive_broker_ids() == {1}


def test_stale_updates_are_refused(core: BrokerCore) -> None:
    core.replicas.controller_epoch = 5
    for controller_epoch, broker_epoch, expected in (
        (4, BROKER_EPOCH, Errors.STALE_CONTROLLER_EPOCH),
        (5, BROKER_EPOCH - 1, Errors.STALE_BROKER_EPOCH),
    ):
        request = UpdateMetadataRequest(controller_id=9, controller_epoch=controller_epoch, broker_epoch=broker_epoch)
        response = core.controller.call(request, 8)
        assert Errors.for_code(response.error_code) is expected
    assert core.cache.controller_id == 0


def test_deleted_partitions_are_told_to_the_group_coordinator(core: BrokerCore) -> None:
    core.create_topic("u", 2)
    core.update_metadata("u", [0], topic_id_of("u"), -2, -2, [], [0])
    assert core.roles.deleted == [TopicPartition("u", 0)]
    assert core.cache.num_partitions("u") == 1
    core.update_metadata("u", [0, 1], topic_id_of("u"), -2, -2, [], [0])
    assert core.roles.deleted == [TopicPartition("u", 0), TopicPartition("u", 1)]
    assert not core.cache.contains_topic("u")
    assert core.cache.topic_name(topic_id_of("u")) is None


def test_each_fenced_order_is_one_line(make_core: MakeCore, caplog: pytest.LogCaptureFixture) -> None:
    core = make_core(others=(1,))
    command(core, order(epoch=3, replicas=(0, 1)), controller_epoch=5)
    caplog.set_level("INFO", "kafkapy")
    caplog.clear()
    command(core, order(1, 2, replicas=(0, 1)), controller_epoch=5)
    stop(core, True, epoch=2, controller_epoch=5)
    stop(core, True, controller_epoch=4)
    stop(core, True, controller_epoch=5, broker_epoch=BROKER_EPOCH - 1)
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 4
    assert lines[0].startswith(
        "Partition t-0: an order to have broker 1 lead it is fenced, because its leader epoch 2 is older than 3"
    )
    assert lines[1].startswith("Partition t-0: an order to stop is fenced, because its leader epoch 2 is older than 3")
    assert "is fenced, because its epoch 4 is older than 5" in lines[2]
    assert f"meant for an earlier life of this broker, of epoch {BROKER_EPOCH - 1}" in lines[3]
