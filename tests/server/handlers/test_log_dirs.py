"""Replicas on their way to another log dir, and log dirs that fail."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.log_types import FetchIsolation
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from kafkapy.protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from kafkapy.protocol.messages.stop_replica import StopReplicaRequest
from kafkapy.server.replication import replica_alter_log_dirs
from tests.server.broker_core import BROKER_ID, TOPIC, BrokerCore, MakeCore, batch, topic_id_of

NAME = TopicPartition(TOPIC, 0)


@pytest.fixture
def dirs(tmp_path: Path) -> list[str]:
    return [str(tmp_path / "one"), str(tmp_path / "two")]


@pytest.fixture
def core(make_core: MakeCore, dirs: list[str]) -> BrokerCore:
    core = make_core(others=(1,), log_dirs=",".join(dirs))
    core.time.holds = True
    return core


def alter(core: BrokerCore, path: str, topic: str = TOPIC, index: int = 0) -> Errors:
    answer = core.connect().call(
        AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                    path=path,
                    topics=[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(name=topic, partitions=[index])],
                )
            ]
        ),
        2,
    )
    ((result,),) = [topic.partitions for topic in answer.results]
    return Errors.for_code(result.error_code)


def described(core: BrokerCore) -> dict[str, list[tuple[int, bool]]]:
    """(lag, is it a future log?) by dir."""
    answer = core.connect().call(DescribeLogDirsRequest(topics=None), 4)
    return {
        os.path.basename(result.log_dir): [
            (p.offset_lag, p.is_future_key) for topic in result.topics for p in topic.partitions
        ]
        for result in answer.results
    }


def log_of(core: BrokerCore) -> Log:
    log = core.partition().log
    assert log is not None
    return log


def contents(log: Log) -> bytes:
    records = log.read(log.log_start_offset, 1 << 30, FetchIsolation.LOG_END, True).records
    return records if isinstance(records, bytes) else records.read()


def moving(core: BrokerCore, dirs: list[str], **topic: Any) -> tuple[str, str]:
    """The topic's partition is told to move; (from, to)."""
    core.create_topic(**topic)
    source = log_of(core).parent_dir
    (destination,) = set(dirs) - {source}
    assert alter(core, destination) is Errors.NONE
    return source, destination


def subdirectories(directory: str) -> list[str]:
    return sorted(name for name in os.listdir(directory) if name.startswith(TOPIC + "-"))


def test_a_replica_moves(core: BrokerCore, dirs: list[str]) -> None:
    core.create_topic()
    core.append(b"a")
    core.append(b"b")
    before = contents(log_of(core))
    source = log_of(core).parent_dir
    (destination,) = set(dirs) - {source}
    assert alter(core, destination) is Errors.NONE
    assert subdirectories(source) == ["t-0"]
    (future,) = subdirectories(destination)
    assert future.startswith("t-0.")
    assert future.endswith("-future")
    assert sorted(described(core).items()) == sorted(
        {os.path.basename(source): [(0, False)], os.path.basename(destination): [(2, True)]}.items()
    )
    core.append(b"c")
    core.copy()
    assert log_of(core).parent_dir == destination
    assert contents(log_of(core)).startswith(before)
    assert (log_of(core).log_end_offset, log_of(core).high_watermark, log_of(core).topic_id) == (
        3,
        3,
        topic_id_of(TOPIC),
    )
    assert subdirectories(destination) == ["t-0"]
    (deleted,) = subdirectories(source)
    assert deleted.endswith("-delete")
    core.append(b"d")
    assert described(core) == {os.path.basename(source): [], os.path.basename(destination): [(0, False)]}
    core.advance(61_000)
    assert subdirectories(source) == []


def test_what_is_appended_while_the_last_chunk_is_copied_comes_too(core: BrokerCore, dirs: list[str]) -> None:
    _, destination = moving(core, dirs)
    core.append(b"a")
    step, done = core.time.held.pop()
    size = step()
    core.append(b"b")
    done.set_result(size)
    assert (log_of(core).parent_dir, log_of(core).log_end_offset) == (destination, 2)


def test_where_it_is_already_nothing_happens(core: BrokerCore, dirs: list[str]) -> None:
    core.create_topic()
    assert alter(core, log_of(core).parent_dir) is Errors.NONE
    assert core.time.held == []


def test_what_cannot_be_moved(core: BrokerCore, dirs: list[str], make_core: MakeCore) -> None:
    core.create_topic()
    assert alter(core, "/no/such/dir") is Errors.LOG_DIR_NOT_FOUND
    assert alter(core, os.path.relpath(dirs[0])) is Errors.LOG_DIR_NOT_FOUND
    assert alter(core, dirs[0], "unknown") is Errors.UNKNOWN_TOPIC_OR_PARTITION
    long = "x" * 220
    assert alter(core, dirs[0], long) is Errors.INVALID_TOPIC_EXCEPTION
    core.update_metadata("elsewhere", [0], topic_id_of("elsewhere"), 1, 0, [1], [1])
    assert alter(core, dirs[0], "elsewhere") is Errors.REPLICA_NOT_AVAILABLE


def test_the_last_of_several_orders_counts(core: BrokerCore, dirs: list[str]) -> None:
    core.create_topic(partitions=2)
    topic, order = AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic, AlterReplicaLogDirsRequest.AlterReplicaLogDir
    body = AlterReplicaLogDirsRequest(
        dirs=[
            order(path="/no/such/dir", topics=[topic(name="none", partitions=[0]), topic(name=TOPIC, partitions=[1])]),
            order(path=log_of(core).parent_dir, topics=[topic(name=TOPIC, partitions=[0, 0])]),
            order(path=dirs[0], topics=[topic(name="none", partitions=[0, 3])]),
        ]
    )
    answer = core.connect().call(body, 2)
    assert [(t.topic_name, [(p.partition_index, p.error_code) for p in t.partitions]) for t in answer.results] == [
        ("none", [(0, Errors.UNKNOWN_TOPIC_OR_PARTITION.code), (3, Errors.UNKNOWN_TOPIC_OR_PARTITION.code)]),
        (TOPIC, [(1, Errors.LOG_DIR_NOT_FOUND.code), (0, 0)]),
    ]


def test_only_the_partitions_that_are_named_are_described(core: BrokerCore, dirs: list[str]) -> None:
    moving(core, dirs, partitions=2)
    topic = DescribeLogDirsRequest.DescribableLogDirTopic(topic=TOPIC, partitions=[0, 7])
    answer = core.connect().call(DescribeLogDirsRequest(topics=[topic]), 4)
    told = [
        (t.name, p.partition_index, p.is_future_key) for r in answer.results for t in r.topics for p in t.partitions
    ]
    assert sorted(told) == [(TOPIC, 0, False), (TOPIC, 0, True)]


@pytest.mark.parametrize("number", [0, 1])
def test_a_replica_that_is_still_to_come_is_made_there(core: BrokerCore, dirs: list[str], number: int) -> None:
    core.update_metadata(TOPIC, [0], topic_id_of(TOPIC), 1, 0, [1], [1])
    assert alter(core, dirs[number]) is Errors.REPLICA_NOT_AVAILABLE
    core.create_topic()
    assert log_of(core).parent_dir == dirs[number]


def test_a_move_that_is_taken_back(core: BrokerCore, dirs: list[str]) -> None:
    source, destination = moving(core, dirs)
    core.append(b"a")
    assert alter(core, source) is Errors.NONE
    core.copy()
    assert log_of(core).parent_dir == source
    assert core.partition().future_log is None
    assert subdirectories(destination)[0].endswith("-delete")
    assert alter(core, destination) is Errors.NONE
    core.advance(0)
    core.copy()
    assert log_of(core).parent_dir == destination


def test_a_truncation_reaches_the_copy(core: BrokerCore, dirs: list[str]) -> None:
    moving(core, dirs, replicas=[BROKER_ID, 1], leader=1, epoch=1)
    source, future = log_of(core), core.partition().future_log
    assert future is not None
    source.append_as_follower(batch(b"a", base_offset=0, partition_leader_epoch=1))
    source.append_as_follower(batch(b"b", base_offset=1, partition_leader_epoch=1))
    step, done = core.time.held.pop()
    size = step()
    assert future.log_end_offset == 2
    core.log_manager.truncate_to({NAME: 1})
    source.append_as_follower(batch(b"c" * 9, base_offset=1, partition_leader_epoch=2))
    done.set_result(size)
    assert log_of(core) is source, "they end at the same offset, but differ"
    core.copy()
    assert log_of(core) is future
    assert contents(future) == contents(source)


def test_a_copy_begins_where_the_log_begins(core: BrokerCore, dirs: list[str]) -> None:
    core.create_topic()
    for _ in range(3):
        core.append(b"a", b"b")
    core.partition().delete_records(3)  # within the second batch
    (destination,) = set(dirs) - {log_of(core).parent_dir}
    alter(core, destination)
    core.copy()
    log = log_of(core)
    assert (log.parent_dir, log.log_start_offset, log.log_end_offset) == (destination, 3, 6)


def test_the_throttle(core: BrokerCore, dirs: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replica_alter_log_dirs, "CHUNK_BYTES", 400)
    core.throttles.alter_log_dirs.limit = 20
    _, destination = moving(core, dirs)
    for _ in range(6):
        core.append(b"a" * 150)
    core.copy()
    assert core.throttles.alter_log_dirs.is_exceeded()
    for _ in range(5):
        assert core.time.held == []
        core.advance(1000)
    core.advance(10_000)
    while core.time.held or log_of(core).parent_dir != destination:
        if core.time.held:
            core.copy()
        core.advance(1000)


def test_a_deleted_topic_takes_its_copy_along(core: BrokerCore, dirs: list[str]) -> None:
    source, destination = moving(core, dirs)
    core.append(b"a")
    core.controller.call(
        StopReplicaRequest(
            controller_id=BROKER_ID,
            controller_epoch=1,
            broker_epoch=7,
            topic_states=[
                StopReplicaRequest.StopReplicaTopicState(
                    topic_name=TOPIC,
                    partition_states=[
                        StopReplicaRequest.StopReplicaPartitionState(
                            partition_index=0, leader_epoch=-2, delete_partition=True
                        )
                    ],
                )
            ],
        ),
        3,
    )
    core.copy()
    assert all(name.endswith("-delete") for d in (source, destination) for name in subdirectories(d))
    assert core.log_manager.all_logs() == []
    core.advance(61_000)
    assert subdirectories(source) == subdirectories(destination) == []


def test_a_restart_goes_on(core: BrokerCore, dirs: list[str], make_core: MakeCore) -> None:
    source, destination = moving(core, dirs)
    for _ in range(3):
        core.append(b"a")
    move = core.log_dir_moves._moves[NAME]
    move.step(100)
    future = core.partition().future_log
    assert future is not None
    assert future.log_end_offset == 1
    core.high_watermarks.write(core.replicas.partitions())
    core.close()
    again = make_core(others=(1,), log_dirs=",".join(dirs))
    again.time.holds = True
    assert len(again.log_manager.all_logs()) == 2
    again.create_topic(epoch=1)
    future = again.partition().future_log
    assert future is not None
    assert (log_of(again).parent_dir, future.parent_dir, future.log_end_offset) == (source, destination, 1)
    again.copy()
    assert (log_of(again).parent_dir, log_of(again).log_end_offset) == (destination, 3)


def test_the_epoch_of_a_leader_without_records_is_known_in_the_copy(core: BrokerCore, dirs: list[str]) -> None:
    core.create_topic()
    core.append(b"a")
    core.leader_and_isr(TOPIC, [0], topic_id_of(TOPIC), BROKER_ID, 4, [BROKER_ID], [BROKER_ID])
    (destination,) = set(dirs) - {log_of(core).parent_dir}
    alter(core, destination)
    core.copy()
    assert log_of(core).latest_epoch == 4
    assert log_of(core).end_offset_for_epoch(0) == (0, 1)


class RecordingCleaner:
    """What the log manager and the moves ask of the cleaner."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append(name)


def test_the_cleaner_keeps_off_what_moves(core: BrokerCore, dirs: list[str]) -> None:
    cleaner: Any = RecordingCleaner()
    core.log_manager.cleaner = core.log_manager.future.cleaner = cleaner
    source, destination = moving(core, dirs)
    core.append(b"a")
    assert cleaner.calls == []
    core.copy()
    assert cleaner.calls == ["abort_and_pause_cleaning", "alter_checkpoint_dir", "resume_cleaning"]
    alter(core, source)
    core.advance(0)
    del cleaner.calls[:]
    step, done = core.time.held.pop()
    size = step()
    alter(core, destination)
    assert cleaner.calls == ["abort_and_pause_cleaning"]
    done.set_result(size)
    assert cleaner.calls == ["abort_and_pause_cleaning", "resume_cleaning"]


# -- failures


def fail(core: BrokerCore, directory: str) -> None:
    """As the broker does it when a dir fails."""
    gone: list[TopicPartition] = []
    core.log_manager.dir_failure_listeners.append(lambda _, names: gone.extend(names))
    core.log_manager.handle_log_dir_failure(directory, "it is gone", OSError("no such disk"))
    core.log_dir_moves.dir_failed(directory, gone)
    core.replicas.mark_offline(gone)


def test_the_new_dir_fails(core: BrokerCore, dirs: list[str]) -> None:
    source, destination = moving(core, dirs)
    fail(core, destination)
    core.append(b"a")
    core.time.held.pop()[1].set_result(0)
    assert (log_of(core).parent_dir, core.partition().future_log) == (source, None)
    assert alter(core, destination) is Errors.KAFKA_STORAGE_ERROR
    by_dir = {r.log_dir: r.error_code for r in core.connect().call(DescribeLogDirsRequest(topics=None), 4).results}
    assert by_dir == {source: 0, destination: Errors.KAFKA_STORAGE_ERROR.code}


def test_the_old_dir_fails(core: BrokerCore, dirs: list[str]) -> None:
    source, destination = moving(core, dirs)
    fail(core, source)
    core.copy()
    assert core.replicas.partition(NAME) is None
    assert core.replicas.offline == {NAME}
    assert alter(core, destination) is Errors.KAFKA_STORAGE_ERROR
    answer = core.leader_and_isr(TOPIC, [0], topic_id_of(TOPIC), BROKER_ID, 1, [BROKER_ID], [BROKER_ID])
    assert answer.topics[0].partition_errors[0].error_code == Errors.KAFKA_STORAGE_ERROR.code


def test_no_new_logs_while_a_dir_is_offline_except_for_new_topics(core: BrokerCore, dirs: list[str]) -> None:
    fail(core, dirs[1])
    core.create_topic("new")
    assert core.partition("new").log is not None
    answer = core.leader_and_isr("old", [0], topic_id_of("old"), BROKER_ID, 5, [BROKER_ID], [BROKER_ID])
    assert answer.topics[0].partition_errors[0].error_code == Errors.KAFKA_STORAGE_ERROR.code
