"""Stores the bytes of a task's unprocessed records for dead-letter topics."""

from __future__ import annotations

from collections import deque

from kafkapy.streams.records import RecordContext
from kafkapy.streams.task.consumed_record import ConsumedRecord


class RawRecords:
    """Keys and values of records that were deserialized and not processed yet.

    Invariant: for each partition `_records` has, in order, the records above the last processed offset at the last
    `keep`: no more than the task has buffered. So processing a record needs no work here.
    """

    def __init__(self) -> None:
        self._records: dict[tuple[str, int], deque[ConsumedRecord]] = {}

    def keep(self, raw: ConsumedRecord, processed: int) -> None:
        """Store a deserialized record.

        Args:
            raw: The record, key and value as bytes.
            processed: The offset of the last processed record of its partition; -1: none.
        """
        kept = self._records.setdefault((raw.topic, raw.partition), deque())
        while kept and kept[0].offset <= processed:
            kept.popleft()
        kept.append(raw)

    def find(self, context: RecordContext | None) -> tuple[bytes | None, bytes | None]:
        """Return key and value of a context's record; (None, None) if they are not stored."""
        if context is not None and context.topic is not None:
            for raw in self._records.get((context.topic, context.partition), ()):
                if raw.offset == context.offset:
                    return raw.key, raw.value
        return None, None

    def clear(self) -> None:
        """Remove all records."""
        self._records.clear()
