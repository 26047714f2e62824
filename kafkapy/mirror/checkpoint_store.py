"""The checkpoints of a task's groups (Kafka's `CheckpointStore`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

from kafkapy.connect.errors import ConnectException
from kafkapy.mirror.mirror_records import Checkpoint
from kafkapy.mirror.topic_reader import TopicReader
from kafkapy.protocol.errors import KafkaError
from kafkapy.structs import OffsetAndMetadata, TopicPartition

log = logging.getLogger("kafkapy.mirror")

Checkpoints = dict[TopicPartition, Checkpoint]


class CheckpointStore:
    """Reads the checkpoints topic once, and then maintains the newest checkpoint of each group and partition.

    Invariant: only groups of `groups` have checkpoints. Methods can be called from any thread.
    """

    def __init__(self, topic: str, groups: Collection[str], make_consumer: Callable[[], Any]) -> None:
        """
        Args:
            topic: The checkpoints topic.
            groups: The task's groups.
            make_consumer: Creates a consumer of the target cluster.
        """
        self._topic = topic
        self._groups = frozenset(groups)
        self._reader = TopicReader(topic, make_consumer, self._take)
        self._checkpoints: dict[str, Checkpoints] = {}
        self._lock = threading.Lock()
        self.is_initialized = False

    def start(self) -> bool:
        """Read the topic; return whether that succeeded. If not, the store is empty at first."""
        try:
            is_read = self._reader.read_to_end()
        except (KafkaError, ConnectException) as error:
            log.warning(
                "The checkpoints topic %s cannot be read, so only offsets of records that are copied from now on can be "
                "translated: %s",
                self._topic,
                error,
            )
            is_read = False
            with self._lock:
                self._checkpoints.clear()
        finally:
            self._reader.close()
        self.is_initialized = True
        return is_read

    def stop(self) -> None:
        """Make `start` return early."""
        self._reader.stop()

    def get(self, group: str) -> Mapping[TopicPartition, Checkpoint]:
        """Return a group's checkpoints by partitions of the target cluster."""
        with self._lock:
            return dict(self._checkpoints.get(group, {}))

    def update(self, group: str, checkpoints: Mapping[TopicPartition, Checkpoint]) -> None:
        """Store newer checkpoints of a group."""
        with self._lock:
            self._checkpoints.setdefault(group, {}).update(checkpoints)

    def translated_offsets(self) -> dict[str, dict[TopicPartition, OffsetAndMetadata]]:
        """Return the translated offsets of all groups."""
        with self._lock:
            return {
                group: {each.topic_partition: each.offset_and_metadata() for each in checkpoints.values()}
                for group, checkpoints in self._checkpoints.items()
            }

    def _take(self, record: Any) -> None:
        checkpoint = Checkpoint.from_record(record.key, record.value)
        if checkpoint.group in self._groups:
            self.update(checkpoint.group, {checkpoint.topic_partition: checkpoint})
