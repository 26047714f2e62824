"""The context of a `ValueTransformerWithKey`: it allows access to stores and scheduling, but not forwarding."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from kafkapy.streams.errors import StreamsException
from kafkapy.streams.processor import Cancellable, Duration, ProcessorContext, PunctuationType
from kafkapy.streams.records import RecordMetadata

if TYPE_CHECKING:
    from kafkapy.streams.processor import TaskContext


class ForwardingDisabledProcessorContext(ProcessorContext):
    """Delegates to the processor's context, except `forward`, which raises."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context

    def forward(self, record: Any, child_name: str | None = None) -> NoReturn:
        raise StreamsException("forward is not supported here: it could change the key of a value that is transformed.")

    def get_state_store(self, name: str) -> Any:
        return self._context.get_state_store(name)

    def schedule(self, interval: Duration, type: PunctuationType, punctuator: Callable[[int], Any]) -> Cancellable:
        return self._context.schedule(interval, type, punctuator)

    def record_metadata(self) -> RecordMetadata | None:
        return self._context.record_metadata()

    def current_stream_time_ms(self) -> int:
        return self._context.current_stream_time_ms()

    def current_system_time_ms(self) -> int:
        return self._context.current_system_time_ms()

    def commit(self) -> None:
        self._context.commit()
