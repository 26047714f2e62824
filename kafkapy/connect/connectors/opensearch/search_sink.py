"""Writes records to OpenSearch and Elasticsearch, with the configs of two connectors in Java."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.http.client_config import pause_ms
from kafkapy.connect.connectors.opensearch.documents import DocumentMaker, Operation
from kafkapy.connect.connectors.opensearch.mappings import mapping_of
from kafkapy.connect.connectors.opensearch.search_client import ClusterBusy, OperationResult, SearchClient
from kafkapy.connect.connectors.opensearch.sink_config import (
    Behavior,
    SearchSettings,
    aiven_definitions,
    aiven_settings,
    confluent_definitions,
    confluent_settings,
)
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.connectors.uniform_sink import PutProgress, UniformSinkConnector, report
from kafkapy.connect.errors import ConnectException, DataException, RetriableException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.sink import SinkTask

log = logging.getLogger("kafkapy.connect.connectors.opensearch")

_OF_THE_DOCUMENT: Final = frozenset({400, 413})


class OpensearchSinkTask(SinkTask):
    """Writes documents in bulk requests; `put` returns when all are written.

    Invariant: `_progress` has the records that were written (or given up) by a `put` which then failed; `_ready` the names
    of indexes and data streams that are known to be there.
    """

    java_class: ClassVar[str] = "io.aiven.kafka.connect.opensearch.OpensearchSinkTask"

    @staticmethod
    def settings(config: Mapping[str, str]) -> SearchSettings:
        return aiven_settings(aiven_definitions().parse(config))

    def __init__(self) -> None:
        self._progress = PutProgress()
        self._ready: set[str] = set()

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self._settings = self.settings(config)
        self._documents = DocumentMaker(self._settings)
        self._client = SearchClient(self._settings)

    def stop(self) -> None:
        if hasattr(self, "_client"):
            self._client.close()

    def put(self, records: Sequence[SinkRecord]) -> None:
        try:
            self._put(records)
        except ClusterBusy as error:
            if not self._progress.failed(self._settings.max_retries):
                raise ConnectException(f"After {self._progress.attempts} attempts: {error}") from error
            self.context.timeout(pause_ms(self._settings.client, self._progress.attempts, error.retry_after))
            raise RetriableException(str(error)) from error
        self._progress.completed()

    def _put(self, records: Sequence[SinkRecord]) -> None:
        batch: list[Operation] = []
        size = 0
        for record in self._progress.pending(records):
            operation = self._operation(record)
            if operation is None:
                continue
            batch.append(operation)
            size += len(operation.lines)
            if len(batch) >= self._settings.batch_size or size >= self._settings.bulk_bytes:
                self._write(batch)
                batch, size = [], 0
        if batch:
            self._write(batch)

    def _operation(self, record: SinkRecord) -> Operation | None:
        """Return what becomes of a record, in an index that is there; None: nothing."""
        try:
            operation = self._documents.operation(record)
            if operation is not None and operation.resource not in self._ready:
                self._prepare(operation)
        except DataException as error:
            self._give_up(record, error, "ignore" if self._settings.drops_invalid else "fail")
            operation = None
        if operation is None:
            self._progress.done([record])
        return operation

    def _prepare(self, operation: Operation) -> None:
        settings, record = self._settings, operation.record
        if settings.creates_resources and settings.is_stream:
            self._client.create_data_stream(operation.resource)
        elif settings.creates_resources and operation.action != "delete":
            mapping = None
            if not settings.ignores_schema(record.topic or ""):
                mapping = mapping_of(record.value_schema, compact_maps=settings.compact_maps)
            self._client.create_index(operation.resource, mapping)
        elif settings.creates_resources:
            return
        self._ready.add(operation.resource)

    def _write(self, batch: Sequence[Operation]) -> None:
        """Execute operations.

        Those that follow one of the same document which has to be repeated are repeated, too, so that the order is kept.

        Raises:
            ClusterBusy: Some have to be repeated.
        """
        problem = ""
        repeated: set[tuple[str, str | None]] = set()
        for operation, result in zip(batch, self._client.bulk(batch), strict=True):
            document = operation.resource, operation.id
            if problem_now := self._settle(operation, result):
                problem = problem or problem_now
                repeated.add(document)
            elif operation.id is None or document not in repeated:
                self._progress.done([operation.record])
        if problem:
            raise ClusterBusy(problem)

    def _settle(self, operation: Operation, result: OperationResult) -> str:
        """Deal with a result; returns why the operation has to be repeated, "" if it need not be."""
        status, record = result.status, operation.record
        text = f"{operation.action} of {operation.id} in {operation.resource}: {status} {result.kind} {result.reason}"
        if status < 300 or (status == 404 and operation.action == "delete"):
            return ""
        if status == 404:  # it was deleted meanwhile
            self._ready.discard(operation.resource)
            return text
        if result.is_busy or (status == 409 and operation.action == "update"):
            return text
        if status == 409:
            if operation.is_versioned:
                self._conflict(record, text)
            return ""
        if status not in _OF_THE_DOCUMENT or result.kind == "invalid_index_name_exception":
            raise ConnectException(text)
        self._give_up(record, ConnectException(text), self._settings.on_malformed)
        return ""

    def _conflict(self, record: SinkRecord, text: str) -> None:
        """The document is there, in this version or a later one."""
        if self._settings.on_conflict == "ignore":
            log.debug("%s", text)
        else:
            self._give_up(record, ConnectException(text), self._settings.on_conflict)

    def _give_up(self, record: SinkRecord, error: ConnectException, behavior: Behavior) -> None:
        if behavior != "ignore" and report(self.context, [record], error):
            return
        if behavior == "fail":
            raise error
        place = record.original_topic, record.original_kafka_partition, record.original_kafka_offset
        log.log(logging.WARNING if behavior == "warn" else logging.INFO, "The record %s is skipped: %s", place, error)


class ElasticsearchSinkTask(OpensearchSinkTask):
    """The same with Confluent's configs."""

    java_class = "io.confluent.connect.elasticsearch.ElasticsearchSinkTask"

    @staticmethod
    def settings(config: Mapping[str, str]) -> SearchSettings:
        return confluent_settings(confluent_definitions().parse(config))


class OpensearchSinkConnector(UniformSinkConnector):
    """Writes records to indexes and data streams; the configs are in docs/connect_search.md.

    Example:
        >>> connector = OpensearchSinkConnector()
        >>> connector.start({"name": "a", "connection.url": "http://localhost:9200", "key.ignore": "true"})
        >>> len(connector.task_configs(2))
        2
    """

    java_class: ClassVar[str] = "io.aiven.kafka.connect.opensearch.OpensearchSinkConnector"
    task = OpensearchSinkTask

    def config(self) -> ConfigDef:
        return aiven_definitions()

    def check_values(self, known: Mapping[str, Any], config: Mapping[str, str]) -> None:
        require("connect-http", "httpx", "A connector to OpenSearch")
        aiven_settings(known)


class ElasticsearchSinkConnector(UniformSinkConnector):
    """The same with Confluent's configs.

    Example:
        >>> ElasticsearchSinkConnector().config()["behavior.on.null.values"].default
        'fail'
    """

    java_class = "io.confluent.connect.elasticsearch.ElasticsearchSinkConnector"
    task = ElasticsearchSinkTask

    def config(self) -> ConfigDef:
        return confluent_definitions()

    def check_values(self, known: Mapping[str, Any], config: Mapping[str, str]) -> None:
        require("connect-http", "httpx", "A connector to Elasticsearch")
        confluent_settings(known)
