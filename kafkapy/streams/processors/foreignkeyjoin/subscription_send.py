"""Left side of a foreign-key join: converts updates to subscriptions, which go to the right table's partition."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.defaults import given_or_default
from kafkapy.streams.processors.dropped import drop, drop_out_of_order
from kafkapy.streams.processors.foreignkeyjoin.murmur3 import hash128
from kafkapy.streams.processors.foreignkeyjoin.subscription_wrapper import Instruction, SubscriptionWrapper
from kafkapy.streams.records import Change, Record

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext
    from kafkapy.streams.serdes import Serde, Serializer


class SubscriptionSendProcessorSupplier:
    """Supplies the processors of the left table.

    Args:
        foreign_key_extractor: Returns the right table's key for a left value.
        foreign_key_serde_topic_supplier: Returns the topic to pass to the key's serializer.
        value_serde_topic_supplier: Returns the topic to pass to the value's serializer.
        foreign_key_serde: None: that of `default.key.serde`.
        value_serializer: None: that of `default.value.serde`.
        left_join: Whether records without a foreign key have a result.

    Attributes:
        use_versioned_semantics: Whether the left table is versioned, so that out-of-order updates are dropped.
    """

    def __init__(
        self,
        foreign_key_extractor: Callable[[Any], Any],
        foreign_key_serde_topic_supplier: Callable[[], str],
        value_serde_topic_supplier: Callable[[], str],
        foreign_key_serde: Serde[Any] | None,
        value_serializer: Serializer | None,
        left_join: bool,
    ) -> None:
        self.foreign_key_extractor = foreign_key_extractor
        self.foreign_key_serde_topic_supplier = foreign_key_serde_topic_supplier
        self.value_serde_topic_supplier = value_serde_topic_supplier
        self.foreign_key_serde = foreign_key_serde
        self.value_serializer = value_serializer
        self.left_join = left_join
        self.use_versioned_semantics = False

    def __call__(self) -> Processor:
        return SubscriptionSendProcessor(self)


class SubscriptionSendProcessor(Processor):
    """Sends subscriptions; for an inner join it drops updates if neither the old nor the new value has a foreign
    key."""

    _context: TaskContext
    _foreign_key_topic: str
    _value_topic: str
    _foreign_key_serializer: Serializer
    _value_serializer: Serializer

    def __init__(self, supplier: SubscriptionSendProcessorSupplier) -> None:
        self._supplier = supplier
        self._foreign_key = supplier.foreign_key_extractor
        self._left_join = supplier.left_join
        self._only_latest = supplier.use_versioned_semantics
        self._value_hash: bytes | None = None

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        supplier = self._supplier
        self._foreign_key_topic = supplier.foreign_key_serde_topic_supplier()
        self._value_topic = supplier.value_serde_topic_supplier()
        foreign_key_serde = given_or_default(supplier.foreign_key_serde, self._context, is_key=True)
        self._foreign_key_serializer = foreign_key_serde.serializer()
        if supplier.value_serializer is None:
            self._value_serializer = given_or_default(None, self._context, is_key=False).serializer()
        else:
            self._value_serializer = supplier.value_serializer

    def process(self, record: Record[Any, Change]) -> None:
        self._value_hash = None
        if self._only_latest and not record.value.is_latest:
            drop_out_of_order(self._context)
        elif self._left_join:
            self._send_for_left_join(record)
        else:
            self._send_for_inner_join(record)

    def _send_for_left_join(self, record: Record[Any, Change]) -> None:
        new, old, _ = record.value
        if new is None and old is None:
            return
        old_key = None if old is None else self._foreign_key(old)
        new_key = None if new is None else self._foreign_key(new)
        if old_key is not None and self._differ(new_key, old_key):
            self._send(record, old_key, Instruction.DELETE_KEY_NO_PROPAGATE)
        self._send(record, new_key, Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE)

    def _send_for_inner_join(self, record: Record[Any, Change]) -> None:
        new, old, _ = record.value
        if new is None and old is None:
            return
        old_key = None if old is None else self._foreign_key(old)
        new_key = None if new is None else self._foreign_key(new)
        if new_key is None:
            if old_key is None:
                self._drop()
            else:
                self._send(record, old_key, Instruction.DELETE_KEY_AND_PROPAGATE)
        elif old_key is not None and self._differ(new_key, old_key):
            self._send(record, old_key, Instruction.DELETE_KEY_NO_PROPAGATE)
            self._send(record, new_key, Instruction.PROPAGATE_NULL_IF_NO_FK_VAL_AVAILABLE)
        else:
            self._send(record, new_key, Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE)

    def _differ(self, one: Any, two: Any) -> bool:
        """Return whether two foreign keys differ in their bytes."""
        serialize = self._foreign_key_serializer.serialize
        return serialize(self._foreign_key_topic, one) != serialize(self._foreign_key_topic, two)

    def _send(self, record: Record[Any, Change], foreign_key: Any, instruction: Instruction) -> None:
        new = record.value.new_value
        if new is not None and self._value_hash is None:
            data = self._value_serializer.serialize(self._value_topic, new)
            if data is None:
                raise TypeError("the serializer of the values gives None for a value")
            self._value_hash = hash128(data)
        metadata = self._context.record_metadata()
        assert metadata is not None
        if record.key is None:
            raise TypeError("primaryKey cannot be null. Required by downstream processor.")
        wrapper = SubscriptionWrapper(self._value_hash, instruction, record.key, metadata.partition)
        self._context.forward(Record(foreign_key, wrapper, record.timestamp, record.headers))

    def _drop(self) -> None:
        drop(self._context, "due to null foreign key")
