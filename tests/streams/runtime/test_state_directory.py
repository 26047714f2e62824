"""Directories of tasks: locks, checkpoints, the instance's id."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.task_id import TaskId
from kafkapy.streams.errors import ProcessorStateException
from kafkapy.streams.runtime.state_directory import StateDirectory

TASK = TaskId(0, 1)


def test_a_checkpoint_has_the_form_of_java(tmp_path: Path) -> None:
    directory = StateDirectory(str(tmp_path), "app")
    assert directory.lock(TASK)
    offsets = {TopicPartition("app-store-changelog", 1): 41, TopicPartition("a", 1): 7}
    directory.write_checkpoint(TASK, offsets)
    text = (tmp_path / "app" / "0_1" / ".checkpoint").read_text()
    assert text == "0\n2\na 1 7\napp-store-changelog 1 41\n"
    assert directory.read_checkpoint(TASK) == offsets
    directory.delete_checkpoint(TASK)
    assert directory.read_checkpoint(TASK) == {}


@pytest.mark.parametrize("text", ["", "1\n0\n", "0\n2\na 1 7\n", "0\n1\na 1\n", "0\n1\na x 7\n"])
def test_a_malformed_checkpoint_is_said(tmp_path: Path, text: str) -> None:
    directory = StateDirectory(str(tmp_path), "app")
    assert directory.lock(TASK)
    (tmp_path / "app" / "0_1" / ".checkpoint").write_text(text)
    with pytest.raises(ProcessorStateException, match="checkpoint"):
        directory.read_checkpoint(TASK)


def test_a_task_is_locked_by_one(tmp_path: Path) -> None:
    first, second = StateDirectory(str(tmp_path), "app"), StateDirectory(str(tmp_path), "app")
    assert first.lock(TASK)
    assert not second.lock(TASK)
    first.unlock(TASK)
    assert second.lock(TASK)
    second.close()


def test_an_instance_keeps_its_id(tmp_path: Path) -> None:
    first, second = StateDirectory(str(tmp_path), "app"), StateDirectory(str(tmp_path), "app")
    id = first.process_id()
    assert second.process_id() != id  # another one, at the same time
    first.close()
    second.close()
    again = StateDirectory(str(tmp_path), "app")
    assert again.process_id() == id
    again.close()


def test_a_wiped_task_keeps_its_lock_alone(tmp_path: Path) -> None:
    directory = StateDirectory(str(tmp_path), "app")
    assert directory.lock(TASK)
    stores = directory.task_path(TASK) / "rocksdb" / "counts"
    stores.mkdir(parents=True)
    directory.write_checkpoint(TASK, {})
    directory.wipe(TASK)
    assert [entry.name for entry in directory.task_path(TASK).iterdir()] == [".lock"]
    assert directory.stored_tasks() == [TASK]
    directory.close()


def test_a_task_is_locked_by_one_thread(tmp_path: Path) -> None:
    directory = StateDirectory(str(tmp_path), "app")
    assert directory.lock(TASK)
    assert directory.lock(TASK)
    taken: list[bool] = []
    thread = Thread(target=lambda: taken.append(directory.lock(TASK)))
    thread.start()
    thread.join()
    assert taken == [False]
    assert directory.is_locked(TASK)
    directory.close()
    assert not directory.is_locked(TASK)


def test_what_is_left_of_tasks_that_run_elsewhere_is_removed(tmp_path: Path) -> None:
    directory = StateDirectory(str(tmp_path), "app")
    old, young, locked = TaskId(0, 1), TaskId(0, 2), TaskId(0, 3)
    for task in (old, young, locked):
        (directory.task_path(task) / "rocksdb").mkdir(parents=True)
        directory.write_checkpoint(task, {})
    for path in directory.task_path(old), *directory.task_path(old).iterdir():
        os.utime(path, (1000, 1000))
    for path in directory.task_path(young), *directory.task_path(young).iterdir():
        os.utime(path, (1300, 1300))
    assert directory.lock(locked)
    assert directory.clean_if_due(600_000, 1000) == []
    assert directory.clean_if_due(600_000, 1599) == []
    assert directory.clean_if_due(600_000, 1601) == [old]
    assert directory.stored_tasks() == [young, locked]
    assert directory.clean_if_due(600_000, 2100) == []
    assert directory.clean_if_due(600_000, 2300) == [young]
    directory.close()
