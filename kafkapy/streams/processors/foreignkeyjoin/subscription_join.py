"""Right side of a foreign-key join: responds to subscriptions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from kafkapy.streams.processor import Processor
from kafkapy.streams.processors.foreignkeyjoin.combined_key import CombinedKey
from kafkapy.streams.processors.foreignkeyjoin.subscription_response_wrapper import SubscriptionResponseWrapper
from kafkapy.streams.processors.foreignkeyjoin.subscription_wrapper import Instruction, SubscriptionWrapper
from kafkapy.streams.processors.table import KTableValueGetter, KTableValueGetterSupplier
from kafkapy.streams.records import Change, Record

if TYPE_CHECKING:
    from kafkapy.streams.processor import ProcessorContext, TaskContext


class SubscriptionJoinProcessorSupplier:
    """Supplies the processors that look up the right table.

    Args:
        foreign_value_getter_supplier: Supplies the getter of the right table.
    """

    def __init__(self, foreign_value_getter_supplier: KTableValueGetterSupplier) -> None:
        self._foreign_value_getter_supplier = foreign_value_getter_supplier

    def __call__(self) -> Processor:
        return SubscriptionJoinProcessor(self._foreign_value_getter_supplier())


class SubscriptionJoinProcessor(Processor):
    """Executes the instruction of a subscription."""

    _context: TaskContext

    def __init__(self, foreign_values: KTableValueGetter) -> None:
        self._foreign_values = foreign_values

    def init(self, context: ProcessorContext) -> None:
        self._context = cast("TaskContext", context)
        self._foreign_values.init(self._context)

    def process(self, record: Record[CombinedKey, Change]) -> None:
        foreign_key, primary_key = record.key
        subscription: SubscriptionWrapper = record.value.new_value.value
        timestamp = record.value.new_value.timestamp
        value: Any = None
        found = None if foreign_key is None else self._foreign_values.get(foreign_key)
        if found is not None:
            value = found.value
            timestamp = max(timestamp, found.timestamp)
        instruction = subscription.instruction
        if instruction is Instruction.DELETE_KEY_NO_PROPAGATE:
            return
        if instruction is Instruction.DELETE_KEY_AND_PROPAGATE:
            value = None
        elif found is None and instruction is Instruction.PROPAGATE_ONLY_IF_FK_VAL_AVAILABLE:
            return
        answer = SubscriptionResponseWrapper(subscription.hash, value, subscription.primary_partition)
        self._context.forward(Record(primary_key, answer, timestamp, record.headers))
