"""Writes records to MongoDB (MongoDB's `MongoSinkConnector`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.mongodb.connection import connect, passes, refusal
from kafkapy.connect.connectors.mongodb.sink_config import OVERRIDE, check_supported, sink_definitions
from kafkapy.connect.connectors.mongodb.write_models import WriteModel, WriteModels
from kafkapy.connect.connectors.uniform_sink import PutProgress, UniformSinkConnector, report
from kafkapy.connect.errors import ConnectException, DataException, RetriableException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.sink import SinkTask

log = logging.getLogger("kafkapy.connect.connectors.mongodb")

_DUPLICATE: Final = 11000


class MongoSinkTask(SinkTask):
    """Writes documents in bulk; `put` returns when all are written.

    Invariant: `_progress` has the records that were written (or given up) by a `put` which then failed; `_topics` has what
    makes the operations of each topic that has had records.
    """

    java_class = "com.mongodb.kafka.connect.sink.MongoSinkTask"

    def __init__(self) -> None:
        self._progress = PutProgress()
        self._topics: dict[str, WriteModels] = {}

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        known = sink_definitions().parse(config)
        self._config = config
        self._pause_ms: int = known["connection.retry.delay.ms"]
        self._client = connect(known["connection.uri"].value)

    def stop(self) -> None:
        if hasattr(self, "_client"):
            self._client.close()

    def put(self, records: Sequence[SinkRecord]) -> None:
        from pymongo.errors import PyMongoError

        try:
            for topic, batch in self._batches(self._progress.pending(records)):
                self._write(topic, batch)
        except PyMongoError as error:
            if not passes(error):
                raise refusal("MongoDB refuses a request", error) from error
            self.context.timeout(self._pause_ms)
            raise RetriableException(f"MongoDB cannot be reached now: {str(error)[:500]}") from error
        self._progress.completed()

    def _batches(self, records: Sequence[SinkRecord]) -> Iterator[tuple[WriteModels, list[WriteModel]]]:
        """Group operations in order: each group is one topic's."""
        batch: list[WriteModel] = []
        last: WriteModels | None = None
        for record in records:
            topic = self._topic(record.topic or "")
            if batch and last is not None and (topic is not last or len(batch) == last.batch_size):
                yield last, batch
                batch = []
            last = topic
            model = self._model(topic, record)
            if model is not None:
                batch.append(model)
        if batch and last is not None:
            yield last, batch

    def _topic(self, name: str) -> WriteModels:
        if name not in self._topics:
            self._topics[name] = WriteModels(self._config, name)
        return self._topics[name]

    def _model(self, topic: WriteModels, record: SinkRecord) -> WriteModel | None:
        try:
            model = topic.model(record)
        except DataException as error:
            self._give_up(topic, record, error)
            model = None
        if model is None:
            self._progress.done([record])
        return model

    def _write(self, topic: WriteModels, batch: list[WriteModel]) -> None:
        """Execute operations.

        Raises:
            PyMongoError: Some may not have been executed.
            ConnectException: A record is refused, and errors are not tolerated.
        """
        from pymongo.errors import BulkWriteError

        collection = self._client[topic.database][topic.collection]
        while batch:
            try:
                collection.bulk_write([model.operation for model in batch], ordered=topic.is_ordered)
                failed: list[Any] = []
            except BulkWriteError as error:
                failed = error.details.get("writeErrors", [])
                if not failed:  # of the write concern: it is unknown what would outlive a failure
                    self.context.timeout(self._pause_ms)
                    raise RetriableException(f"The write concern is not fulfilled: {error.details}") from error
            end = failed[-1]["index"] + 1 if failed and topic.is_ordered else len(batch)
            errors = {each["index"]: each for each in failed}
            self._progress.done(model.record for at, model in enumerate(batch[:end]) if at not in errors)
            for at, each in sorted(errors.items()):
                self._refused(topic, batch[at], each)
            batch = batch[end:]

    def _refused(self, topic: WriteModels, model: WriteModel, error: Mapping[str, Any]) -> None:
        is_id = "_id" in error.get("keyPattern", error.get("errmsg", ""))
        if not (error.get("code") == _DUPLICATE and is_id and model.repeats_are_refused):
            text = f"MongoDB refuses a document: {error.get('code')} {error.get('errmsg')}"
            self._give_up(topic, model.record, ConnectException(text))
        self._progress.done([model.record])

    def _give_up(self, topic: WriteModels, record: SinkRecord, error: ConnectException) -> None:
        if topic.tolerance == "none":
            if not report(self.context, [record], error):
                raise error
            return
        try:
            report(self.context, [record], error)
        except ConnectException:  # errors.tolerance is none, mongo.errors.tolerance is not
            log.debug("The worker does not report records", exc_info=True)
        place = record.original_topic, record.original_kafka_partition, record.original_kafka_offset
        log.warning("The record %s is skipped: %s", place, error)


class MongoSinkConnector(UniformSinkConnector):
    """Writes records to collections; the configs are in docs/connect_mongodb.md.

    Example:
        >>> MongoSinkConnector().config()["max.batch.size"].default
        0
    """

    java_class = "com.mongodb.kafka.connect.MongoSinkConnector"
    task = MongoSinkTask
    prefixes = (OVERRIDE, "namespace.mapper")

    def config(self) -> ConfigDef:
        return sink_definitions()

    def check_values(self, known: Mapping[str, Any], config: Mapping[str, str]) -> None:
        for topic in ("", *check_supported(config)):
            WriteModels(config, topic)
        connect(known["connection.uri"].value, checks_only=True)
