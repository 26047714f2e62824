"""Left side of a foreign-key join: converts responses to results."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.defaults import given_or_default
from kafkapy.streams.processors.foreignkeyjoin.murmur3 import hash128
from kafkapy.streams.processors.foreignkeyjoin.subscription_response_wrapper import SubscriptionResponseWrapper
from kafkapy.streams.processors.ktable_ktable_join import ValueJoiner
from kafkapy.streams.processors.table import KTableValueGetterSupplier
from kafkapy.streams.records import Record, ValueAndTimestamp

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext
    from kafkapy.streams.serdes import Serializer

LOG = logging.getLogger(__name__)


class ResponseJoinProcessorSupplier:
    """Supplies the processors that read the topic of responses.

    Args:
        value_getter_supplier: Supplies the getter of the left table.
        value_serializer: Serializer of its values; None: that of `default.value.serde`.
        value_hash_serde_pseudo_topic_supplier: Returns the topic to pass to the serializer.
        joiner: Takes left and right value, returns the result.
        left_join: Whether there is a result without a right value.
    """

    def __init__(
        self,
        value_getter_supplier: KTableValueGetterSupplier,
        value_serializer: Serializer | None,
        value_hash_serde_pseudo_topic_supplier: Callable[[], str],
        joiner: ValueJoiner,
        left_join: bool,
    ) -> None:
        self.value_getter_supplier = value_getter_supplier
        self.value_serializer = value_serializer
        self.value_hash_serde_pseudo_topic_supplier = value_hash_serde_pseudo_topic_supplier
        self.joiner = joiner
        self.left_join = left_join

    def __call__(self) -> Processor:
        return ResponseJoinProcessor(self)


class ResponseJoinProcessor(Processor):
    """Drops a response if the left value has changed since the subscription."""

    _context: TaskContext
    _topic: str
    _serializer: Serializer

    def __init__(self, supplier: ResponseJoinProcessorSupplier) -> None:
        self._supplier = supplier
        self._value_getter = supplier.value_getter_supplier()

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        supplier = self._supplier
        self._topic = supplier.value_hash_serde_pseudo_topic_supplier()
        self._value_getter.init(self._context)
        if supplier.value_serializer is None:
            self._serializer = given_or_default(None, self._context, is_key=False).serializer()
        else:
            self._serializer = supplier.value_serializer

    def process(self, record: Record[Any, SubscriptionResponseWrapper]) -> None:
        answer = record.value
        current = self._value_getter.get(record.key)
        if self._hash(current) != answer.original_value_hash:
            LOG.debug("Dropping FK-join response due to hash mismatch.")
            self._context.record_dropped()
            return
        foreign_value = answer.foreign_value
        value = None if current is None else current.value
        if foreign_value is None and (not self._supplier.left_join or current is None):
            result = None
        else:
            result = self._supplier.joiner(value, foreign_value)
        self._context.forward(Record(record.key, result, record.timestamp, record.headers))

    def _hash(self, current: ValueAndTimestamp | None) -> bytes | None:
        if current is None:
            return None
        data = self._serializer.serialize(self._topic, current.value)
        if data is None:
            raise TypeError("the serializer of the values gives None for a value")
        return hash128(data)

    def close(self) -> None:
        self._value_getter.close()
