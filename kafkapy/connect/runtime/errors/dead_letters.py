"""Writes a sink's records that have failed to a topic (Kafka's `DeadLetterQueueReporter`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import Future, wait
from typing import TYPE_CHECKING, Any, Final

from kafkapy.admin.topics import NewTopic
from kafkapy.connect.errors import ConnectException, java_class_of
from kafkapy.connect.herder.status_reports import trace_of
from kafkapy.connect.plugins import class_name_of
from kafkapy.connect.runtime.errors.error_metrics import ErrorHandlingMetrics
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.storage import ConnectorTaskId
from kafkapy.protocol.errors import Errors, KafkaError

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.producer.kafka_producer import KafkaProducer

log = logging.getLogger("kafkapy.connect.runtime.errors")

PREFIX: Final = "__connect.errors."
"""Prefix of the headers that describe the error."""
_CLOSE_S: Final = 30.0


class DeadLetterQueueReporter:
    """One for each sink task with `errors.deadletterqueue.topic.name`.

    Invariant: a future of `report` is done when the record was written, or its write has failed, which is logged and
    counted. `_pending` has the unfinished futures, under `_lock`; the producer's buffer bounds their number.
    """

    def __init__(
        self,
        id: ConnectorTaskId,
        topic: str,
        producer: KafkaProducer[bytes, bytes],
        metrics: ErrorHandlingMetrics,
        adds_headers: bool = False,
    ) -> None:
        """
        Args:
            id: The task.
            topic: The topic for the records, with their keys, values, headers and timestamps.
            producer: The reporter's producer, which the reporter closes.
            metrics: The task's metrics.
            adds_headers: Whether headers describe the error (`errors.deadletterqueue.context.headers.enable`).
                Default: False.
        """
        self._id = id
        self._topic = topic
        self._producer = producer
        self._metrics = metrics
        self._adds_headers = adds_headers
        self._lock = threading.Lock()
        self._pending: set[Future[Any]] = set()

    def report(self, context: ProcessingContext) -> Future[Any]:
        self._metrics.record_dead_letter()
        done: Future[Any] = Future()
        original = context.original
        if original is None:
            self._failed(done, ConnectException("There is no record"))
            return done
        headers = list(original.headers)
        if self._adds_headers:
            headers.extend(error_headers(self._id, context))
        timestamp = None if original.timestamp < 0 else original.timestamp
        with self._lock:
            self._pending.add(done)
        done.add_done_callback(self._forget)
        try:
            sent = self._producer.send(self._topic, original.value, original.key, headers or None, None, timestamp)
        except Exception as error:
            self._failed(done, error)
            return done
        sent.add_callback(done.set_result)
        sent.add_errback(lambda error: self._failed(done, error))
        return done

    def await_pending(self) -> None:
        """Wait until no write is pending; failed ones are logged."""
        with self._lock:
            pending = list(self._pending)
        wait(pending)

    def close(self) -> None:
        self._producer.close(_CLOSE_S)

    def _forget(self, done: Future[Any]) -> None:
        with self._lock:
            self._pending.discard(done)

    def _failed(self, done: Future[Any], error: BaseException) -> None:
        log.error("A dead letter of task %s is not in topic %s", self._id, self._topic, exc_info=error)
        self._metrics.record_dead_letter_failed()
        done.set_exception(error)


def error_headers(id: ConnectorTaskId, context: ProcessingContext) -> Iterator[tuple[str, bytes | None]]:
    """Return the headers that describe an error: the record's position, the failed stage, and the exception.

    Args:
        id: The task.
        context: The record's context with its error.
    """
    original, error = context.original, context.error
    texts: dict[str, str | None] = {}
    if original is not None:
        texts |= {"topic": original.topic, "partition": str(original.partition), "offset": str(original.offset)}
    texts["connector.name"] = id.connector
    texts["task.id"] = str(id.task)
    texts["stage"] = "null" if context.stage is None else context.stage.name
    texts["class.name"] = "null" if context.executing_class is None else class_name_of(context.executing_class)
    if error is not None:
        texts["exception.class.name"] = java_class_of(error)
        texts["exception.message"] = str(error) if error.args else None
        texts["exception.stacktrace"] = trace_of(error)
    for name, text in texts.items():
        yield PREFIX + name, None if text is None else text.encode("utf-8", "replace")


def ensure_topic(admin: AdminClient, topic: str, replication_factor: int) -> None:
    """Create the topic of dead letters, with one partition, unless it exists.

    Args:
        admin: An admin client.
        topic: Name of the topic.
        replication_factor: `errors.deadletterqueue.topic.replication.factor`.

    Raises:
        ConnectException: The topic cannot be created.
    """
    try:
        (found,) = admin.describe_topics([topic]).values()
        if not isinstance(found, KafkaError):
            return
        log.info("Topic %s does not exist and is made", topic)
        (outcome,) = admin.create_topics([NewTopic(topic, 1, replication_factor)]).values()
        if isinstance(outcome, KafkaError) and outcome.error is not Errors.TOPIC_ALREADY_EXISTS:
            raise outcome
    except KafkaError as error:
        raise ConnectException(f"Could not initialize dead letter queue with topic={topic}") from error
