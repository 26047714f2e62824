"""The tasks of a thread: what a task that cannot be made leaves behind."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.task_id import TaskId
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import ProcessorStateException
from kafkapy.streams.runtime.state_directory import StateDirectory
from kafkapy.streams.runtime.task_manager import TaskManager

TASK = TaskId(0, 1)
PARTITION = TopicPartition("lines", 1)


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
