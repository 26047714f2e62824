"""The tasks of a thread: what a task that cannot be made leaves behind, commits that fail, and where a restored task begins."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn, cast

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import CommitFailedError, IllegalStateError, KafkaTimeoutError, RebalanceInProgressError
from kafkapy.streams.assignment.task_id import TaskId
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import ProcessorStateException, TaskMigratedException
from kafkapy.streams.runtime.state_directory import StateDirectory
from kafkapy.streams.runtime.task_manager import TaskManager
from kafkapy.structs import OffsetAndMetadata

TASK = TaskId(0, 1)
PARTITION = TopicPartition("lines", 1)
CHANGELOG = TopicPartition("app-store-changelog", 1)


@pytest.mark.parametrize("is_copy", [False, True])
def test_a_task_that_cannot_be_made_leaves_its_directory_to_others(tmp_path: Path, is_copy: bool) -> None:
    def make_task(id: TaskId, partitions: Collection[TopicPartition]) -> NoReturn:
        raise ProcessorStateException("the store cannot be opened")

    unused: Any = None
    directory = StateDirectory(str(tmp_path), "app")
    config = StreamsConfig({"application.id": "app", "bootstrap.servers": "localhost:9092"})
    manager = TaskManager(config, directory, make_task, unused, unused)
    with pytest.raises(ProcessorStateException):
        manager.handle_assignment({} if is_copy else {TASK: [PARTITION]}, {TASK: [PARTITION]} if is_copy else {})
    assert not directory.is_locked(TASK)


class _Consumer:
    """Refuses commits with the next of `errors`."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.committed_offsets: dict[TopicPartition, int] = {}

    def commit(self, offsets: dict[TopicPartition, OffsetAndMetadata]) -> None:
        if self.errors:
            raise self.errors.pop(0)
        self.committed_offsets |= {partition: one.offset for partition, one in offsets.items()}


class _Task:
    """Has processed all records before offset 3."""

    def __init__(self) -> None:
        self.commit_needed = True
        self.context = SimpleNamespace(processor_metadata={}, collector=SimpleNamespace(send_waiting=lambda: 0))
        self.group = SimpleNamespace(queues={(PARTITION.topic, PARTITION.partition): SimpleNamespace(partition_time=5)})
        self.topology = SimpleNamespace(changelogs={})

    def prepare_commit(self) -> dict[tuple[str, int], int]:
        return {(PARTITION.topic, PARTITION.partition): 3}

    def post_commit(self) -> None:
        self.commit_needed = False


def _manager(tmp_path: Path, consumer: _Consumer, **configs: str) -> tuple[TaskManager, _Task]:
    unused: Any = None
    properties = {"application.id": "app", "bootstrap.servers": "localhost:9092", **configs}
    producer: Any = SimpleNamespace(flush=lambda: None)
    manager = TaskManager(StreamsConfig(properties), StateDirectory(str(tmp_path), "app"), unused, unused, producer)
    manager.consumer = cast(Any, consumer)
    task = _Task()
    manager.tasks[TASK] = cast(Any, task)
    return manager, task


@pytest.mark.parametrize("error", [RebalanceInProgressError(), KafkaTimeoutError("no answer")])
def test_what_could_not_be_committed_is_committed_next_time(tmp_path: Path, error: Exception) -> None:
    consumer = _Consumer(error)
    manager, task = _manager(tmp_path, consumer)
    manager.commit()
    assert task.commit_needed
    assert not consumer.committed_offsets
    manager.commit()
    assert not task.commit_needed
    assert consumer.committed_offsets == {PARTITION: 3}


def test_commits_that_time_out_are_given_up_after_the_tasks_timeout(tmp_path: Path) -> None:
    consumer = _Consumer(KafkaTimeoutError("no answer"), KafkaTimeoutError("no answer"))
    manager, _ = _manager(tmp_path, consumer, **{"task.timeout.ms": "0"})
    manager.commit()
    with pytest.raises(KafkaTimeoutError):
        manager.commit()


def test_a_member_that_is_out_of_its_group_has_lost_its_tasks(tmp_path: Path) -> None:
    manager, task = _manager(tmp_path, _Consumer(CommitFailedError()))
    with pytest.raises(TaskMigratedException):
        manager.commit()
    assert task.commit_needed


class _Restoring:
    """A task whose changelog is being read, with all that its manager uses of others.

    Attributes:
        events: What was looked up, in order.
    """

    def __init__(self, tmp_path: Path) -> None:
        self.events: list[str] = []
        self.is_read = False
        self.is_assigned = True
        self.answers_in_time = True
        properties = {"application.id": "app", "bootstrap.servers": "localhost:9092"}
        config = StreamsConfig(properties | {"processing.guarantee": "exactly_once_v2"})
        producer: Any = SimpleNamespace(offsets={}, abort=lambda: None)
        unused: Any = None
        self.manager = TaskManager(
            config, StateDirectory(str(tmp_path), "app"), self._make, cast(Any, self), producer, unused
        )
        self.manager.consumer = cast(Any, self)
        self.written: dict[TopicPartition, int] = producer.offsets
        self.manager.handle_assignment({TASK: [PARTITION]}, {})

    def _make(self, id: TaskId, partitions: Collection[TopicPartition]) -> Any:
        nothing = lambda *_: None  # noqa: E731  # what the manager calls of a task
        return SimpleNamespace(
            topology=SimpleNamespace(changelogs={"store": CHANGELOG.topic}, source_topics=[PARTITION.topic]),
            state=SimpleNamespace(flush=nothing),
            group=SimpleNamespace(set_partition_time=nothing, queues={}),
            context=SimpleNamespace(processor_metadata={}),
            committed={},
            consumed={},
            initialize_stores=nothing,
            initialize_topology=lambda: self.events.append("runs"),
            suspend=nothing,
            close=nothing,
        )

    # the consumer

    def pause(self, *partitions: TopicPartition) -> None:
        pass

    def resume(self, *partitions: TopicPartition) -> None:
        if not self.is_assigned:
            raise IllegalStateError("No current assignment for partition lines-1")

    def committed(self, partition: TopicPartition, metadata: bool) -> OffsetAndMetadata:
        self.events.append("committed")
        if not self.answers_in_time:
            raise KafkaTimeoutError("a transaction is undecided")
        return OffsetAndMetadata(7, "")

    # the reader of changelogs

    def register(self, *args: Any, **more: Any) -> None:
        pass

    def unregister(self, partitions: Collection[TopicPartition]) -> None:
        pass

    def position(self, partition: TopicPartition) -> int | None:
        return None

    def is_complete(self, partitions: Collection[TopicPartition]) -> bool:
        return self.is_read

    def restore(self, timeout_ms: float) -> None:
        self.events.append("changelog")


def test_committed_offsets_are_known_before_the_ends_of_changelogs(tmp_path: Path) -> None:
    restoring = _Restoring(tmp_path)
    restoring.answers_in_time = False
    restoring.manager.restore(0)
    assert restoring.events == ["committed"]
    restoring.answers_in_time = True
    restoring.manager.restore(0)
    restoring.is_read = True
    restoring.manager.restore(0)
    assert restoring.events == ["committed", "committed", "changelog", "changelog", "runs"]
    assert not restoring.manager.is_restoring
    assert restoring.manager.tasks[TASK].committed == {("lines", 1): 7}


def test_a_member_that_has_just_lost_its_partitions_hears_of_it_later(tmp_path: Path) -> None:
    restoring = _Restoring(tmp_path)
    restoring.is_read, restoring.is_assigned = True, False
    restoring.manager.restore(0)
    assert restoring.events[-1] == "runs"
    restoring.manager.handle_lost([PARTITION])
    assert not restoring.manager.tasks


def test_what_a_task_has_written_says_nothing_of_its_next_stores(tmp_path: Path) -> None:
    restoring = _Restoring(tmp_path)
    restoring.written |= {CHANGELOG: 100, TopicPartition("app-other-changelog", 1): 5}
    restoring.manager.close(clean=False)
    assert restoring.written == {TopicPartition("app-other-changelog", 1): 5}
