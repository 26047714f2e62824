"""The node of an operator with a coroutine function."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.errors import TaskCorruptedException, TaskMigratedException
from kafkapy.streams.processors.coroutines import CoroutineProcessor, InFlight
from kafkapy.streams.records import Record
from kafkapy.streams.topology.nodes import FailedProcessing, ProcessorNode


class CoroutineNode(ProcessorNode):
    """An operator that forwards records asynchronously.

    Attributes:
        coroutines: Its processor.
    """

    def __init__(self, name: str, processor: CoroutineProcessor, stores: frozenset[str]) -> None:
        super().__init__(name, processor, stores)
        self.coroutines = processor

    def process(self, record: Record[Any, Any]) -> None:
        """Start the coroutine; if the limit is reached, first wait for the oldest one. That is needed because an
        upstream operator may forward many records for one."""
        while self.coroutines.is_full:
            self.hand_on_first(wait_for_it=True)
        super().process(record)

    def hand_on_first(self, *, wait_for_it: bool) -> bool:
        """Process the first record further if its coroutine has ended.

        Args:
            wait_for_it: Whether to wait for its end.

        Returns:
            Whether a record was processed.

        Raises:
            FailedProcessing: Its coroutine or a downstream node has failed.
        """
        done = self.coroutines.first(wait_for_it=wait_for_it)
        if done is None:
            return False
        context = self._context
        origin, node = context.record_context, context.current_node
        context.record_context = done.context
        context.set_current_node(self)
        try:
            self._hand_on(done)
        except FailedProcessing as failed:
            if str(failed) or done.context is None:
                raise
            where = f"topic={done.context.topic}, partition={done.context.partition}, offset={done.context.offset}"
            text = f"Exception caught in process. taskId={context.task_id}, {where}"
            raise FailedProcessing(text) from failed.__cause__
        finally:
            context.record_context = origin
            context.set_current_node(node)
        return True

    def _hand_on(self, done: InFlight) -> None:
        try:
            self.coroutines.hand_on(done)
        except (FailedProcessing, TaskCorruptedException, TaskMigratedException):
            raise
        except Exception as error:
            self._failed(done.record, error)
