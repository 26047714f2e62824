"""What a store asks of the record that is processed; before the first one there is none."""

from __future__ import annotations

from kafkapy.streams.processor import TaskContext
from kafkapy.streams.records import RecordContext


def timestamp_of_record(context: TaskContext) -> int:
    """Its timestamp; 0 without one."""
    record = context.record_context
    return 0 if record is None else record.timestamp


def record_context(context: TaskContext) -> RecordContext:
    """Its origin; one that says nothing without one."""
    record = context.record_context
    return RecordContext(0, -1, -1, None, []) if record is None else record
