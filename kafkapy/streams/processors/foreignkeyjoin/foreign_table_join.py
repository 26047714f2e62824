"""Right side of a foreign-key join: sends an update to all subscribers of its key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.dropped import drop, drop_out_of_order
from kafkapy.streams.processors.foreignkeyjoin.combined_key import CombinedKeySchema
from kafkapy.streams.processors.foreignkeyjoin.subscription_response_wrapper import SubscriptionResponseWrapper
from kafkapy.streams.processors.foreignkeyjoin.subscription_wrapper import SubscriptionWrapper
from kafkapy.streams.records import Change, Record

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext


class ForeignTableJoinProcessorSupplier:
    """Supplies the processors of the right table.

    Args:
        store_name: Name of the store of subscriptions.
        key_schema: Schema of its keys, which the processor that writes the store initializes.

    Attributes:
        use_versioned_semantics: Whether the right table is versioned, so that out-of-order updates are dropped.
    """

    def __init__(self, store_name: str, key_schema: CombinedKeySchema) -> None:
        self.store_name = store_name
        self.key_schema = key_schema
        self.use_versioned_semantics = False

    def __call__(self) -> Processor:
        return ForeignTableJoinProcessor(self)


class ForeignTableJoinProcessor(Processor):
    """Drops updates with a null key, and out-of-order updates of a versioned table."""

    _context: TaskContext
    _store: Any

    def __init__(self, supplier: ForeignTableJoinProcessorSupplier) -> None:
        self._store_name = supplier.store_name
        self._key_schema = supplier.key_schema
        self._only_latest = supplier.use_versioned_semantics

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        self._store = context.get_state_store(self._store_name)

    def process(self, record: Record[Any, Change]) -> None:
        if record.key is None:
            drop(self._context, "due to null key")
            return
        if self._only_latest and not record.value.is_latest:
            drop_out_of_order(self._context)
            return
        value = record.value.new_value
        prefix = self._key_schema.prefix_bytes(record.key)
        for key, found in self._store.range(prefix, incremented(prefix)):
            if key.startswith(prefix):
                subscription: SubscriptionWrapper = found.value
                answer = SubscriptionResponseWrapper(subscription.hash, value, subscription.primary_partition)
                primary_key = self._key_schema.from_bytes(key).primary_key
                self._context.forward(Record(primary_key, answer, record.timestamp, record.headers))


def incremented(prefix: bytes) -> bytes:
    """Return the next number with the same number of bytes; it exists, since a prefix begins with a length."""
    return (int.from_bytes(prefix, "big") + 1).to_bytes(len(prefix), "big")
