"""Moves replicas between the log dirs of this broker (KIP-113; Kafka's `ReplicaAlterLogDirsManager`)."""

from __future__ import annotations

import logging
import os
from collections import deque
from collections.abc import Awaitable, Callable, Iterable

from kafkapy.cluster.partition import Partition
from kafkapy.common.scheduler import Scheduler
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.common.uuid import ZERO_UUID
from kafkapy.log.files.log_files import MAX_DIR_NAME_LENGTH, log_future_dir_name
from kafkapy.log.log import Log
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime.completion import Completion, spawn
from kafkapy.server.replication.high_watermarks import HighWatermarkCheckpoints
from kafkapy.server.replication.log_dir_move import LogDirMove, is_gone
from kafkapy.server.replication.replica_manager import ReplicaManager
from kafkapy.server.replication.replication_quota import ReplicationQuota

log = logging.getLogger("kafkapy.server.ReplicaAlterLogDirsManager")

CHUNK_BYTES = 1 << 20
"""Bytes copied in one step; the last one is copied on the reactor thread, which it blocks."""

InThread = Callable[[Callable[[], int]], Awaitable[int]]


class ReplicaAlterLogDirsManager:
    """The replicas that are being moved, and their copiers.

    Invariant: on the reactor thread. A partition with both a current log and a future log is in `_moves`; at most
    `threads` of them are copied at once, in background threads, the others wait in `_queue`.
    """

    def __init__(
        self,
        replica_manager: ReplicaManager,
        high_watermarks: HighWatermarkCheckpoints,
        quota: ReplicationQuota,
        in_thread: InThread,
        scheduler: Scheduler,
        threads: int,
        backoff_ms: int,
    ) -> None:
        self._replicas = replica_manager
        self._log_manager = replica_manager.log_manager
        self._high_watermarks = high_watermarks
        self._quota = quota
        self._in_thread = in_thread
        self._scheduler = scheduler
        self._threads = threads
        self._backoff_ms = backoff_ms
        self._moves: dict[TopicPartition, LogDirMove] = {}
        self._queue: deque[LogDirMove] = deque()
        self._copying = 0

    # ------------------------------------------------------------------------------------------------ orders

    def alter(self, partition: TopicPartition, directory: str) -> Errors:
        """Move a replica to this dir. Without a local replica, a later one is created there (REPLICA_NOT_AVAILABLE)."""
        try:
            self._alter(partition, directory)
        except KafkaError as error:
            problem = error.error
            log.warning("Unable to alter the log dir of %s to %s: %s", partition, directory, error)
            return Errors.REPLICA_NOT_AVAILABLE if problem is Errors.NOT_LEADER_OR_FOLLOWER else problem
        return Errors.NONE

    def _alter(self, name: TopicPartition, directory: str) -> None:
        if len(log_future_dir_name(name)) > MAX_DIR_NAME_LENGTH:
            raise KafkaError(Errors.INVALID_TOPIC_EXCEPTION, "The topic name is too long.")
        if directory != os.path.abspath(directory):
            raise KafkaError(Errors.LOG_DIR_NOT_FOUND, f"Log dir {directory} is not found in the config.")
        if not self._log_manager.is_log_dir_online(directory):
            raise KafkaError(Errors.KAFKA_STORAGE_ERROR, f"Log directory {directory} is offline")
        if name in self._replicas.offline:
            raise KafkaError(Errors.KAFKA_STORAGE_ERROR, f"Partition {name} is offline")
        known = self._replicas.partition(name)
        if known is not None and known.future_log is not None and known.future_log.parent_dir != directory:
            self.give_up(name)
        self._log_manager.future.maybe_prefer(name, directory)
        partition = self._replicas.get_partition(name)
        if partition.log is None:
            raise KafkaError(Errors.NOT_LEADER_OR_FOLLOWER)
        if partition.log.parent_dir != directory and partition.future_log is None:
            log.info("Partition %s moves from %s to %s", name, partition.log.parent_dir, directory)
            self._start(partition, partition.log)

    def resume(self, partitions: Iterable[Partition]) -> None:
        """Continue moves of these partitions, whose logs have been opened (again)."""
        for partition in partitions:
            name = partition.topic_partition
            if partition.log is not None and name not in self._moves and self._log_manager.future.get(name) is not None:
                self._start(partition, partition.log)

    def remove(self, partitions: Iterable[TopicPartition]) -> None:
        """Stop copying these; keep the copies so far."""
        for name in partitions:
            move = self._moves.pop(name, None)
            if move is not None:
                move.cancelled = True

    def give_up(self, name: TopicPartition) -> None:
        """Cancel the move and delete the copy. `KafkaError` KAFKA_STORAGE_ERROR."""
        self.remove([name])
        partition = self._replicas.partition(name)
        if partition is not None:
            partition.future_log = None
        self._log_manager.future.async_delete(name)

    def dir_failed(self, directory: str, partitions: Iterable[TopicPartition]) -> None:
        """Handle a failed dir; `partitions` are those whose current logs were in it."""
        self.remove(partitions)
        for name, move in list(self._moves.items()):
            future_log = move.partition.future_log
            if future_log is not None and future_log.parent_dir == directory:
                log.warning("Partition %s stays where it is: log dir %s has failed", name, directory)
                move.partition.future_log = None
                self.remove([name])

    def shutdown(self) -> None:
        """Stop copying; moves continue after the next start."""
        self.remove(list(self._moves))

    # ------------------------------------------------------------------------------------------------ copying

    def _start(self, partition: Partition, current: Log) -> None:
        name = partition.topic_partition
        topic_id = None if partition.topic_id == ZERO_UUID else partition.topic_id
        future = self._log_manager.future.get_or_create(name, topic_id)
        if partition.future_log is not future:
            future.update_high_watermark(self._high_watermarks.take(future, name))
            partition.future_log = future
        move = self._moves[name] = LogDirMove(partition, current, future, self._log_manager)
        self._queue.append(move)
        self._copy_next()

    def _copy_next(self) -> None:
        while self._queue and self._copying < self._threads:
            self._copying += 1
            spawn(self._copy(self._queue.popleft()))

    async def _copy(self, move: LogDirMove) -> None:
        try:
            while not move.cancelled:
                await self._copy_some(move)
        except Exception:
            log.exception("Partition %s is not copied until it gets a new leader epoch", move.partition.topic_partition)
            if not move.cancelled:
                self.remove([move.partition.topic_partition])
        finally:
            move.end_copy()
            self._copying -= 1
            self._scheduler.schedule_once("alter-log-dirs", self._copy_next, 0)

    async def _copy_some(self, move: LogDirMove) -> None:
        """Copy one chunk; after the last one, the future log replaces the current one."""
        name = move.partition.topic_partition
        if self._quota.is_exceeded():
            await self._pause()
            return
        try:
            size = await self._in_thread(lambda: move.step(CHUNK_BYTES))
            self._quota.record(size)
            if size < CHUNK_BYTES // 2 and move.maybe_replace(CHUNK_BYTES):
                self._replaced(move)
        except (KafkaError, OSError) as error:
            if move.cancelled or is_gone(error):
                if move.partition.future_log is None:
                    self._replaced(move)
                self.remove([name])
                move.cancelled = True
                return
            log.warning("Partition %s can't be copied to its new log dir, trying again: %s", name, error)
            await self._pause()

    def _replaced(self, move: LogDirMove) -> None:
        name = move.partition.topic_partition
        if self._moves.get(name) is move:
            self.remove([name])
            self._replicas.role_changed(name)

    def _pause(self) -> Completion[None]:
        pause: Completion[None] = Completion()
        self._scheduler.schedule_once("alter-log-dirs", lambda: pause.set_result(None), self._backoff_ms)
        return pause
