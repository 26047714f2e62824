"""The state directory of an instance: task directories with locks and checkpoints, and the process id (Kafka's
`StateDirectory`)."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import threading
import uuid
from pathlib import Path
from typing import IO, Final

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.streams.assignment.task_id import ProcessId, TaskId, parse_task_id
from kafkapy.streams.errors import ProcessorStateException

_LOCK: Final = ".lock"
_CHECKPOINT: Final = ".checkpoint"
_PROCESS_FILE: Final = "kafka-streams-process-metadata"
_CHECKPOINT_VERSION: Final = 0


class StateDirectory:
    """`state.dir`/`application.id`.

    Invariant: `_locks` has the locks of this process's tasks and their owning threads; while a task is locked, no
    other thread or process opens its stores.

    Args:
        root: `state.dir`.
        application_id: The application.
    """

    def __init__(self, root: str, application_id: str) -> None:
        self.path = Path(root, application_id)
        self._locks: dict[TaskId, tuple[IO[str], int]] = {}
        self._clean_at: float | None = None

    def process_id(self) -> ProcessId:
        """Return the instance's process id: the stored one if the directory exists and no other process uses it,
        otherwise a new one."""
        self.path.mkdir(parents=True, exist_ok=True)
        path = self.path / _PROCESS_FILE
        file = open(path, "a+", encoding="utf-8")  # noqa: SIM115  # locked as long as the process runs
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return ProcessId.of(uuid.uuid4().bytes)
        file.seek(0)
        try:
            value = uuid.UUID(json.loads(file.read())["processId"])
        except (ValueError, KeyError, TypeError):
            value = uuid.uuid4()
            file.seek(0)
            file.truncate()
            file.write(json.dumps({"processId": str(value), "version": 1}))
            file.flush()
        self._process_file = file
        return ProcessId.of(value.bytes)

    def task_path(self, task: TaskId) -> Path:
        return self.path / str(task)

    def lock(self, task: TaskId) -> bool:
        """Lock a task's directory for the calling thread; return False if another thread or process holds the lock."""
        held = self._locks.get(task)
        if held is not None:
            return held[1] == threading.get_ident()
        directory = self.task_path(task)
        directory.mkdir(parents=True, exist_ok=True)
        file = open(directory / _LOCK, "a", encoding="utf-8")  # noqa: SIM115  # until `unlock`
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            return False
        self._locks[task] = file, threading.get_ident()
        return True

    def unlock(self, task: TaskId) -> None:
        """Unlock a task's directory."""
        held = self._locks.pop(task, None)
        if held is not None:
            held[0].close()

    def is_locked(self, task: TaskId) -> bool:
        """Return whether a thread of this process has locked a task's directory."""
        return task in self._locks

    def stored_tasks(self) -> list[TaskId]:
        """Return the tasks with a directory."""
        found = []
        for entry in self.path.iterdir() if self.path.is_dir() else ():
            try:
                found.append(parse_task_id(entry.name))
            except ValueError:
                continue
        return sorted(found)

    def wipe(self, task: TaskId) -> None:
        """Delete a task's stores and checkpoint; its lock stays."""
        directory = self.task_path(task)
        for entry in directory.iterdir() if directory.is_dir() else ():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != _LOCK:
                entry.unlink()

    def clean_if_due(self, delay_ms: float, now: float) -> list[TaskId]:
        """Call `clean` at most once in `delay_ms`, first `delay_ms` after the first call."""
        if self._clean_at is None or now >= self._clean_at:
            is_first, self._clean_at = self._clean_at is None, now + delay_ms / 1000
            if not is_first:
                return self.clean(delay_ms, now)
        return []

    def clean(self, older_than_ms: float, now: float) -> list[TaskId]:
        """Delete the directories of tasks that no thread or process has locked.

        Args:
            older_than_ms: Minimum time since the last write to a directory.
            now: The time in s since 1970.

        Returns:
            The tasks.
        """
        removed = []
        for task in self.stored_tasks():
            path = self.task_path(task)
            if self.is_locked(task) or now - _last_modified(path) < older_than_ms / 1000 or not self.lock(task):
                continue
            try:
                shutil.rmtree(path)
                removed.append(task)
            finally:
                self.unlock(task)
        return removed

    # --- checkpoints ------------------------------------------------------------------------------------------------------

    def read_checkpoint(self, task: TaskId) -> dict[TopicPartition, int]:
        """Return the changelog offsets that a task's stores contain; empty without a checkpoint.

        Raises:
            ProcessorStateException: It is malformed.
        """
        path = self.task_path(task) / _CHECKPOINT
        try:
            lines = path.read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return {}
        try:
            version, count, entries = int(lines[0]), int(lines[1]), lines[2:]
            if version != _CHECKPOINT_VERSION or len(entries) != count:
                raise ValueError(f"version {version}, {len(entries)} of {count} entries")
            offsets = {}
            for entry in entries:
                topic, partition, offset = entry.split(" ")
                offsets[TopicPartition(topic, int(partition))] = int(offset)
        except (ValueError, IndexError) as error:
            raise ProcessorStateException(f"The checkpoint {path} is malformed: {error}") from error
        return offsets

    def write_checkpoint(self, task: TaskId, offsets: dict[TopicPartition, int]) -> None:
        """Replace a task's checkpoint and flush it to disk."""
        path = self.task_path(task) / _CHECKPOINT
        lines = [str(_CHECKPOINT_VERSION), str(len(offsets))]
        lines += [f"{topic} {partition} {offset}" for (topic, partition), offset in sorted(offsets.items())]
        temporary = path.with_suffix(".tmp")
        with open(temporary, "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    def delete_checkpoint(self, task: TaskId) -> None:
        (self.task_path(task) / _CHECKPOINT).unlink(missing_ok=True)

    def close(self) -> None:
        """Release all locks."""
        for task in list(self._locks):
            self.unlock(task)
        file = getattr(self, "_process_file", None)
        if file is not None:
            file.close()


def _last_modified(directory: Path) -> float:
    times = [directory.stat().st_mtime]
    times += [entry.stat().st_mtime for entry in directory.iterdir() if entry.name != _LOCK]
    return max(times)
