"""Access to the current record for stores; before the first record there is none."""

from __future__ import annotations

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import RecordContext


def timestamp_of_record(context: TaskContext) -> int:
    """Return the current record's timestamp; 0 without a record."""
    record = context.record_context
    return 0 if record is None else record.timestamp


def record_context(context: TaskContext) -> RecordContext:
    """Return the current record's context; an empty one without a record."""
    record = context.record_context
    return RecordContext(0, -1, -1, None, []) if record is None else record
