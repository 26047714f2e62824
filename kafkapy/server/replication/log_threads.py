"""Work on leaders' logs in threads: large appends, and fsyncs that responses wait for."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.log_types import LogAppendInfo
from kafkapy.log.log_validator import INLINE_BYTES
from kafkapy.log.validation_result import Buffer
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.runtime import large_memory
from kafkapy.runtime.clock import InThread
from kafkapy.runtime.completion import spawn
from kafkapy.server.replication.replica_manager import FlushLog, ReplicaManager

log = logging.getLogger("kafkapy.server.ReplicaManager")


class BackgroundAppends:
    """Appends that would block the event loop for long. They are validated in a thread, while other appends to the
    partition go on, and then written, in a thread as well if they are large or need a new segment.

    Leadership, ISR size and the topic's config may change during validation, so they are checked again before the
    write. Batches are decompressed in pieces (`LogValidator`), so each thread holds the request, its result
    (`max.message.bytes` at most), and a few megabytes more.
    """

    def __init__(self, replicas: ReplicaManager, in_thread: InThread) -> None:
        self._replicas = replicas
        self.in_thread = in_thread

    async def append(
        self, name: TopicPartition, records: bytearray | memoryview, required_acks: int, api_version: int
    ) -> LogAppendInfo:
        """As `ReplicaManager.append_to_local_log`; the caller must not use `records` afterwards."""
        replicas, size = self._replicas, len(records)
        remade: list[memoryview] = []
        partition = replicas.get_partition(name)
        partition_log = partition.log_for_append(required_acks)
        append: Callable[[int], LogAppendInfo]
        if size <= INLINE_BYTES and partition_log.is_full_for(size):
            # Only the new segment takes long: validate and write in one call of a thread.
            append = partial(_validate_and_append, partition_log, records, api_version)
        else:
            validated = await self.in_thread(partition_log.validate, records, api_version)
            partition = replicas.get_partition(name)
            partition_log = partition.log_for_append(required_acks)
            append = partial(partition_log.append_validated, *validated)
            size = len(validated[1].records)
            remade += _remade(validated[1].records, records)
        epoch = partition.leader_epoch
        if size <= INLINE_BYTES and not partition.thread_appends and not partition_log.is_full_for(size):
            info = append(epoch)
        else:
            partition.thread_appends += 1
            try:
                info = await self.in_thread(append, epoch)
            finally:
                partition.thread_appends -= 1
        partition.appended_in_thread(partition_log, info)
        replicas.count_append(name, len(records), info)
        if remade:
            _start(self.in_thread(large_memory.release, remade))
        return info


def _validate_and_append(
    partition_log: Log, records: bytearray | memoryview, api_version: int, leader_epoch: int
) -> LogAppendInfo:
    return partition_log.append_validated(*partition_log.validate(records, api_version), leader_epoch)


def _remade(written: Buffer, given: bytearray | memoryview) -> list[memoryview]:
    """Memory allocated by validation, which is unused after the write. The input may contain other records."""
    source = given.obj if isinstance(given, memoryview) else given
    return [written] if isinstance(written, memoryview) and written.obj is not source else []


def flush_in(in_thread: InThread) -> FlushLog:
    """Return a function that flushes a log in a thread; fsyncs of several logs run in parallel."""

    async def flush(partition_log: Log, done: Callable[[Errors], None]) -> None:
        error = Errors.NONE
        try:
            await in_thread(partition_log.flush)
        except KafkaError as problem:
            error = problem.error
        except Exception:
            log.exception("Flushing %s failed", partition_log)
            error = Errors.UNKNOWN_SERVER_ERROR
        done(error)

    return lambda partition_log, done: _start(flush(partition_log, done))


def _start(work: Awaitable[None]) -> None:
    async def run() -> None:
        await work

    spawn(run())
