"""What is done with leaders' logs in threads: large appends, and fsyncs that answers wait for."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from kafkapy.clients.completion import spawn
from kafkapy.common.clock import InThread
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log import Log
from kafkapy.log.log_types import LogAppendInfo, TakesLong
from kafkapy.log.log_validator import AT_ONCE, LogValidator
from kafkapy.log.validation_result import ValidationResult
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.replication.replica_manager import FlushLog, ReplicaManager

log = logging.getLogger("kafkapy.server.ReplicaManager")


class LargeAppends:
    """Appends that would keep others waiting: they are validated in a thread, while whoever else appends to the partition goes
    on, and then written, in a thread as well if they are large or begin a segment.

    What may have changed meanwhile is looked at again before they are written: who leads, how many replicas are in sync, the
    topic's config. A peer's bytes unfold in pieces (`LogValidator`), so each thread holds what it was sent, what becomes of that
    (`max.message.bytes` at most), and a few megabytes more.
    """

    def __init__(self, replicas: ReplicaManager, in_thread: InThread) -> None:
        self._replicas = replicas
        self._in_thread = in_thread

    async def append(
        self, name: TopicPartition, records: bytearray | memoryview, required_acks: int, api_version: int
    ) -> LogAppendInfo:
        """As `ReplicaManager.append_to_local_log`; `records` are the caller's no more."""
        replicas = self._replicas
        first_log = replicas.get_partition(name).log_for_append(required_acks)
        validator, checked = await self._validated(first_log, records, api_version)
        partition = replicas.get_partition(name)
        partition_log, epoch = partition.log_for_append(required_acks), partition.leader_epoch
        size = len(checked.records)
        if size <= AT_ONCE and not partition.thread_appends and not partition_log.is_full_for(size):
            info = partition_log.append_validated(validator, checked, epoch)
        else:
            partition.thread_appends += 1
            try:
                info = await self._in_thread(partition_log.append_validated, validator, checked, epoch)
            finally:
                partition.thread_appends -= 1
        partition.appended_in_thread(partition_log, info)
        replicas.count_append(name, len(records), info)
        return info

    async def _validated(
        self, partition_log: Log, records: bytearray | memoryview, api_version: int
    ) -> tuple[LogValidator, ValidationResult]:
        """In a thread, unless it is done at once and only the new segment takes long."""
        if partition_log.is_full_for(len(records)):
            with suppress(TakesLong):
                return partition_log.validate(records, api_version, at_once=True)
        return await self._in_thread(partition_log.validate, records, api_version)

    def let_go(self, records: list[memoryview]) -> None:
        """Nobody else refers to them: the kernel takes its time for so much memory, but lets others run meanwhile."""
        _start(self._in_thread(records.clear))


def flush_in(in_thread: InThread) -> FlushLog:
    """Fsyncs of several logs run beside each other, as many as there are threads."""

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
