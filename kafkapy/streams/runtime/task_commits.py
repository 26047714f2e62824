"""Commits of a thread's tasks: offsets, transactions, and checkpoints after them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import CommitFailedError, KafkaTimeoutError, RebalanceInProgressError
from kafkapy.streams.config import StreamsConfig
from kafkapy.streams.errors import TaskMigratedException
from kafkapy.streams.metrics.sensors import now_ms as monotonic_ms
from kafkapy.streams.runtime.commit_metadata import CommitMetadata
from kafkapy.streams.runtime.streams_producer import StreamsProducer
from kafkapy.streams.task.stream_task import StreamTask
from kafkapy.structs import OffsetAndMetadata

log = logging.getLogger("kafkapy.streams")


class MainConsumer(Protocol):
    """The part of the thread's consumer that task management uses."""

    def pause(self, *partitions: TopicPartition) -> None: ...

    def resume(self, *partitions: TopicPartition) -> None: ...

    def committed(self, partition: TopicPartition, metadata: bool) -> Any: ...

    def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None: ...

    def group_metadata(self) -> Any: ...


class TaskCommits:
    """Commits what tasks have processed.

    Invariant: `_deadline` is when commits that time out fail (ms, monotonic); None: the last one succeeded.

    Args:
        config: The application's configuration.
        producer: The thread's producer.
    """

    def __init__(self, config: StreamsConfig, producer: StreamsProducer) -> None:
        self._config = config
        self._producer = producer
        self._deadline: float | None = None

    def commit(self, tasks: Sequence[StreamTask], consumer: MainConsumer) -> bool:
        """Commit all processed records of tasks.

        Args:
            tasks: Those with something to commit; at least one.
            consumer: The thread's consumer.

        Returns:
            False: the group is rebalancing, or the coordinator did not respond in time; nothing is committed.

        Raises:
            TaskMigratedException: Another member or producer has taken over the tasks.
            StreamsException: A record could not be written, or the broker refuses the commit.
        """
        offsets = _prepared(tasks)
        if self._config.exactly_once:
            self._producer.commit(offsets, consumer.group_metadata())
        else:
            self._producer.flush()
            if sum(task.context.collector.send_waiting() for task in tasks):
                self._producer.flush()
            if not self._commit_offsets(offsets, consumer):
                return False
        for task in tasks:
            task.post_commit()
        return True

    def _commit_offsets(self, offsets: Mapping[TopicPartition, OffsetAndMetadata], consumer: MainConsumer) -> bool:
        if not offsets:
            return True
        try:
            consumer.commit(offsets)
        except RebalanceInProgressError as error:
            log.info("Offsets are committed after the rebalance: %s", error)
            return False
        except CommitFailedError as error:
            raise TaskMigratedException(f"Consumer committing offsets failed: {error}") from error
        except KafkaTimeoutError as error:
            if self._deadline is None:
                self._deadline = monotonic_ms() + self._config.task_timeout_ms
            elif monotonic_ms() >= self._deadline:
                raise
            log.warning("Offsets could not be committed, which is tried again until task.timeout.ms: %s", error)
            return False
        self._deadline = None
        return True


def _prepared(tasks: Sequence[StreamTask]) -> dict[TopicPartition, OffsetAndMetadata]:
    offsets: dict[TopicPartition, OffsetAndMetadata] = {}
    for task in tasks:
        metadata = task.context.processor_metadata
        for (topic, number), offset in task.prepare_commit().items():
            text = CommitMetadata(task.group.queues[topic, number].partition_time, metadata).encode()
            offsets[TopicPartition(topic, number)] = OffsetAndMetadata(offset, text)
    return offsets
