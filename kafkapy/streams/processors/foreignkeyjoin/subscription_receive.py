"""Right side of a foreign-key join: stores subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.dropped import drop
from kafkapy.streams.processors.foreignkeyjoin.combined_key import CombinedKey, CombinedKeySchema
from kafkapy.streams.processors.foreignkeyjoin.subscription_wrapper import Instruction, SubscriptionWrapper
from kafkapy.streams.records import Change, Record, ValueAndTimestamp

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext


class SubscriptionReceiveProcessorSupplier:
    """Supplies the processors that read the topic of subscriptions.

    Args:
        store_name: Name of the store of subscriptions.
        key_schema: Schema of its keys.
    """

    def __init__(self, store_name: str, key_schema: CombinedKeySchema) -> None:
        self._store_name = store_name
        self._key_schema = key_schema

    def __call__(self) -> Processor:
        return SubscriptionReceiveProcessor(self._store_name, self._key_schema)


class SubscriptionReceiveProcessor(Processor):
    """Forwards each subscription with its combined key; one without a foreign key is not stored."""

    _context: TaskContext
    _store: Any

    def __init__(self, store_name: str, key_schema: CombinedKeySchema) -> None:
        self._store_name = store_name
        self._key_schema = key_schema

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        self._store = context.get_state_store(self._store_name)
        self._key_schema.init(self._context)

    def process(self, record: Record[Any, SubscriptionWrapper]) -> None:
        wrapper = record.value
        foreign_key = record.key
        if foreign_key is None and wrapper.instruction is not Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE:
            drop(self._context, "due to null foreign key")
            return
        new = ValueAndTimestamp(wrapper, record.timestamp)
        change = Change(new, None if foreign_key is None else self._stored(foreign_key, new))
        key = CombinedKey(foreign_key, wrapper.primary_key)
        self._context.forward(Record(key, change, record.timestamp, record.headers))

    def _stored(self, foreign_key: Any, new: ValueAndTimestamp) -> ValueAndTimestamp | None:
        """Store the subscription, and return the one that it replaces."""
        wrapper: SubscriptionWrapper = new.value
        key = self._key_schema.to_bytes(foreign_key, wrapper.primary_key)
        old: ValueAndTimestamp | None = self._store.get(key)
        if wrapper.instruction <= Instruction.DELETE_KEY_AND_PROPAGATE:
            self._store.delete(key)
        else:
            self._store.put(key, new)
        return old
