"""Writes records that have failed to the log (Kafka's `LogReporter`)."""

from __future__ import annotations

import logging
from concurrent.futures import Future

from kafkapy.connect.plugins import class_name_of
from kafkapy.connect.runtime.errors.error_metrics import ErrorHandlingMetrics
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.storage import ConnectorTaskId
from kafkapy.consumer.records import ConsumerRecord
from kafkapy.record.record_batch import TimestampType

log = logging.getLogger("kafkapy.connect.runtime.errors")


class LogReporter:
    """One for each task that has `errors.log.enable`."""

    def __init__(self, id: ConnectorTaskId, includes_records: bool, metrics: ErrorHandlingMetrics) -> None:
        """
        Args:
            id: The task.
            includes_records: Whether to log a sink record's position, or a source record
                (`errors.log.include.messages`).
            metrics: The task's metrics.
        """
        self._id = id
        self._includes_records = includes_records
        self._metrics = metrics

    def report(self, context: ProcessingContext) -> Future[None]:
        done: Future[None] = Future()
        done.set_result(None)
        if context.failed:
            log.error("%s", self.message(context), exc_info=context.error)
            self._metrics.record_error_logged()
        return done

    def message(self, context: ProcessingContext) -> str:
        """Return the log message, without the trace."""
        stage = "null" if context.stage is None else context.stage.name
        name = "null" if context.executing_class is None else class_name_of(context.executing_class)
        about = _about(context.original) if self._includes_records else ""
        return f"Error encountered in task {self._id}. Executing stage '{stage}' with class '{name}'{about}."

    def close(self) -> None:
        pass


def _about(original: object) -> str:
    if not isinstance(original, ConsumerRecord):
        return f", where source record is = {original}"
    place = f"topic='{original.topic}', partition={original.partition}, offset={original.offset}"
    if original.timestamp_type in (TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME):
        kind = TimestampType(original.timestamp_type).text
        place += f", timestamp={original.timestamp}, timestampType={kind}"
    return f", where consumed record is {{{place}}}"
