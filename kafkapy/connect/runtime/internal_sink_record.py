"""The sink records that a worker passes to tasks (Kafka's `InternalSinkRecord`)."""

from __future__ import annotations

from typing import Any

from kafkapy.connect.records import SinkRecord
from kafkapy.consumer.records import ConsumerRecord

Consumed = ConsumerRecord[Any, Any]


class InternalSinkRecord(SinkRecord):
    """A sink record with its original bytes, which a dead letter needs.

    Attributes:
        consumed: The consumer's record.
    """

    __slots__ = ("consumed",)

    consumed: Consumed

    @classmethod
    def of(cls, record: SinkRecord, consumed: Consumed) -> InternalSinkRecord:
        """Return the record with its origin. `record`: after the transforms."""
        if isinstance(record, InternalSinkRecord):
            return record
        made = cls.__new__(cls)
        record._copy_contents(made)
        record._copy_origin(made)
        made.consumed = consumed
        return made

    def _copy(self) -> InternalSinkRecord:
        made = InternalSinkRecord.__new__(InternalSinkRecord)
        self._copy_contents(made)
        self._copy_origin(made)
        made.consumed = self.consumed
        return made
