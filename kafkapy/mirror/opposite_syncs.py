"""The way back: offsets of topics that were copied from the target cluster become offsets of the originals there."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kafkapy.connect.errors import ConnectException
from kafkapy.mirror.mirror_records import OffsetSync
from kafkapy.mirror.offset_sync_store import OffsetSyncStore
from kafkapy.mirror.topic_reader import TopicReader
from kafkapy.protocol.errors import KafkaError
from kafkapy.structs import TopicPartition

log = logging.getLogger("kafkapy.mirror")


class OppositeSyncs:
    """The offset syncs that the opposite flow has written, read once a group needs them.

    Invariant: `_is_wanted` is set by the task's thread; all else but `translate` happens on the scheduler's thread.
    """

    def __init__(self, topic: str, make_consumer: Callable[[], Any]) -> None:
        """
        Args:
            topic: The opposite flow's offset syncs topic.
            make_consumer: Creates a consumer of the cluster that has it.
        """
        self._topic = topic
        self._store = OffsetSyncStore()
        self._reader = TopicReader(
            topic,
            make_consumer,
            lambda record: self._store.take(OffsetSync.from_record(record.key, record.value)),
            topic_timeout_s=0,
        )
        self._is_wanted = self._is_followed = False

    def translate(self, upstream: TopicPartition, offset: int) -> int | None:
        """Return an offset of the original; None or a negative number: there is none yet.

        Args:
            upstream: The original's partition, on the target cluster.
            offset: A group's offset in the copy, on the source cluster.
        """
        self._is_wanted = True
        return self._store.translate_back(upstream, offset)

    def follow_if_wanted(self, keeps_only_newest: bool) -> None:
        """Begin to read the topic, if a group needs it and it exists; called periodically.

        Args:
            keeps_only_newest: As in `OffsetSyncStore.begin`.
        """
        if self._is_followed or not self._is_wanted:
            return
        self._store.begin(keeps_only_newest)
        try:
            is_read = self._reader.read_to_end()
        except (KafkaError, ConnectException) as error:
            log.info("Offsets of copied topics cannot be translated back yet: %s", error)
            self._reader.reset()
            return
        if is_read:
            self._store.end_of_topic()
            self._reader.follow()
            self._is_followed = True

    def stop(self) -> None:
        """Make `follow_if_wanted` return early."""
        self._reader.stop()

    def close(self) -> None:
        self._reader.close()
