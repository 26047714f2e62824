"""Bytes of the records that a task processes now, for dead-letter topics."""

from __future__ import annotations

from collections import deque

from kafkapy.streams.records import RecordContext
from kafkapy.streams.task.consumed_record import ConsumedRecord


class RawRecords:
    """Keys and values of records that were deserialized and not processed yet.

    Invariant: of each partition, `_records` has those whose offset is above the last processed one, in their order: no more than
    the task has buffered. Nothing is done when a record is processed.
    """

    def __init__(self) -> None:
        self._records: dict[tuple[str, int], deque[ConsumedRecord]] = {}

    def keep(self, raw: ConsumedRecord, processed: int) -> None:
        """A record was deserialized.

        Args:
            raw: The record, key and value as bytes.
            processed: The offset of the last processed record of its partition; -1: none.
        """
        kept = self._records.setdefault((raw.topic, raw.partition), deque())
        while kept and kept[0].offset <= processed:
            kept.popleft()
        kept.append(raw)

    def find(self, context: RecordContext | None) -> tuple[bytes | None, bytes | None]:
        """Key and value of the record that a context tells of; (None, None) if they are not kept."""
        if context is not None and context.topic is not None:
            for raw in self._records.get((context.topic, context.partition), ()):
                if raw.offset == context.offset:
                    return raw.key, raw.value
        return None, None

    def clear(self) -> None:
        """Forget all."""
        self._records.clear()
