"""Builds tasks with their converters, transforms and clients (Kafka's `Worker.TaskBuilder`)."""

from __future__ import annotations

import logging
from contextlib import ExitStack
from typing import Any

from kafkapy.common.time import Time
from kafkapy.connect.clients import make_admin, make_consumer, make_producer
from kafkapy.connect.config.connector_configs import connector_config_def, sink_config_def, source_config_def
from kafkapy.connect.converters.converter import Converter, HeaderConverter
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.herder.infos import SINK, SOURCE, Config
from kafkapy.connect.herder.task_requests import TaskRequest
from kafkapy.connect.plugins import Plugins
from kafkapy.connect.runtime.abstract_source_task import SourceTaskParts
from kafkapy.connect.runtime.client_configs import ClientConfigs, ClientSettings
from kafkapy.connect.runtime.errors.dead_letters import DeadLetterQueueReporter, ensure_topic
from kafkapy.connect.runtime.errors.errant_reporter import WorkerErrantRecordReporter
from kafkapy.connect.runtime.errors.error_metrics import ErrorHandlingMetrics
from kafkapy.connect.runtime.errors.log_reporter import LogReporter
from kafkapy.connect.runtime.errors.retry_operator import ErrorReporter, RetryWithToleranceOperator
from kafkapy.connect.runtime.errors.stage import ToleranceType
from kafkapy.connect.runtime.exactly_once_source_task import ExactlyOnceWorkerSourceTask
from kafkapy.connect.runtime.metrics import ConnectMetrics
from kafkapy.connect.runtime.offset_storage import OffsetStorageWriter, StoredOffsetReader
from kafkapy.connect.runtime.offset_stores import OffsetStores
from kafkapy.connect.runtime.sink_records import SinkRecordMaker
from kafkapy.connect.runtime.sink_task import SinkTaskParts, WorkerSinkTask
from kafkapy.connect.runtime.source_task import WorkerSourceTask
from kafkapy.connect.runtime.task_contexts import WorkerSourceTaskContext
from kafkapy.connect.runtime.task_metrics import MeasuredSink, MeasuredSource
from kafkapy.connect.runtime.topic_creation import TopicCreation, configured_groups
from kafkapy.connect.runtime.transaction_boundaries import boundaries_of
from kafkapy.connect.runtime.transaction_context import WorkerTransactionContext
from kafkapy.connect.runtime.transformation_chain import TransformationChain, transformation_stages
from kafkapy.connect.runtime.worker_config import WorkerConfig
from kafkapy.connect.runtime.worker_metrics import WorkerMetrics
from kafkapy.connect.runtime.worker_task import WorkerTask, close_quietly
from kafkapy.connect.sink import SinkTask
from kafkapy.connect.source import SourceTask, TransactionBoundary, TransactionContext
from kafkapy.connect.storage import ConnectorTaskId, StatusBackingStore

log = logging.getLogger("kafkapy.connect.runtime")

_DEAD_LETTERS = "errors.deadletterqueue.topic.name"
_SIMPLE_HEADERS = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


class TaskBuilder:
    """Builds tasks. Methods raise ConnectException, ConfigException or KafkaError if a task cannot be built; then its
    metrics are removed, and its clients closed."""

    def __init__(
        self,
        config: WorkerConfig,
        plugins: Plugins,
        clients: ClientConfigs,
        stores: OffsetStores,
        status_store: StatusBackingStore,
        time: Time,
    ) -> None:
        self._config = config
        self._plugins = plugins
        self._clients = clients
        self._stores = stores
        self._status_store = status_store
        self._time = time
        self.metrics = ConnectMetrics(time)
        self.worker_metrics = WorkerMetrics(self.metrics)

    # -- source tasks

    def source_task(self, request: TaskRequest, task: Any) -> WorkerTask:
        """Build a source task without exactly-once."""
        id, config = request.id, request.connector_config
        configs = self._clients.producer(id.connector, f"connector-producer-{id}", config)
        return WorkerSourceTask(self._source_parts(request, _source(task), configs, None))

    def exactly_once_source_task(self, request: TaskRequest, task: Any) -> WorkerTask:
        """Build a source task with exactly-once."""
        id, config, checks = request.id, request.connector_config, request.checks
        assert checks is not None
        known = source_config_def(self._plugins).parse(config)
        boundary = TransactionBoundary.from_property(known["transaction.boundary"])
        transactions = WorkerTransactionContext() if boundary is TransactionBoundary.CONNECTOR else None
        interval = known["transaction.boundary.interval.ms"]
        boundaries = boundaries_of(
            boundary,
            self._config["offset.flush.interval.ms"] if interval is None else interval,
            transactions,
            self._time,
        )
        configs = self._clients.exactly_once_producer(id, config)
        parts = self._source_parts(request, _source(task), configs, transactions)
        return ExactlyOnceWorkerSourceTask(parts, boundaries, checks, transactions)

    def _source_parts(
        self, request: TaskRequest, task: SourceTask, configs: ClientSettings, transactions: TransactionContext | None
    ) -> SourceTaskParts:
        id, config = request.id, request.connector_config
        with ExitStack() as undo:
            measured = MeasuredSource(id, self.metrics, request.listener, self.worker_metrics)
            undo.callback(measured.close)
            measured.add_metrics(task.read_metrics)
            operator = self._operator(config, measured.errors)
            chain = TransformationChain(transformation_stages(self._plugins, config), operator)
            undo.callback(close_quietly, chain, f"The transforms of task {id}")
            key, value, header = self._converters(config)
            groups = configured_groups(config) if self._config["topic.creation.enable"] else None
            producer = make_producer(configs)
            undo.callback(close_quietly, producer, f"The producer of task {id}")
            admin = None
            if groups is not None:
                admin = make_admin(self._clients.admin(id.connector, f"connector-adminclient-{id}", config, SOURCE))
                undo.callback(close_quietly, admin, f"The admin client of task {id}")
            store = self._stores.for_task(id.connector, str(id), config, producer, configs)
            undo.pop_all()
        reader = StoredOffsetReader(store, id.connector)
        return SourceTaskParts(
            id,
            task,
            measured,
            request.initial_state,
            key,
            value,
            header,
            chain,
            operator,
            lambda: self._log_reporters(id, config, measured.errors),
            WorkerSourceTaskContext(id, request.state, reader, transactions),
            producer,
            admin,
            None if groups is None or admin is None else TopicCreation(admin, groups),
            reader,
            OffsetStorageWriter(store, id.connector),
            store,
            self._status_store,
            self._config["offset.flush.timeout.ms"],
            self._config["offset.flush.interval.ms"],
            self._config["topic.tracking.enable"],
            measured,
            time=self._time,
        )

    # -- sink tasks

    def sink_task(self, request: TaskRequest, task: Any) -> WorkerTask:
        """Build a sink task with its consumer."""
        if not isinstance(task, SinkTask):
            raise ConnectException(f"{type(task).__name__} is not a sink task")
        id, config = request.id, request.connector_config
        known = sink_config_def(self._plugins).parse(config)
        with ExitStack() as undo:
            measured = MeasuredSink(id, self.metrics, request.listener, self.worker_metrics)
            undo.callback(measured.close)
            measured.add_metrics(task.read_metrics)
            operator = self._operator(config, measured.errors)
            chain = TransformationChain(transformation_stages(self._plugins, config), operator)
            undo.callback(close_quietly, chain, f"The transforms of task {id}")
            converters = self._converters(config)
            reports = bool(known[_DEAD_LETTERS]) or known["errors.log.enable"]
            reporter = WorkerErrantRecordReporter(operator, *converters) if reports else None
            consumer = make_consumer(self._clients.consumer(id.connector, f"connector-consumer-{id}", config))
            undo.pop_all()
        return WorkerSinkTask(
            SinkTaskParts(
                id,
                task,
                request.initial_state,
                request.state,
                converters[2],
                chain,
                SinkRecordMaker(*converters, chain, operator),
                operator,
                lambda: self._sink_reporters(id, config, measured.errors),
                reporter,
                consumer,
                self._status_store,
                self._config["offset.flush.interval.ms"],
                self._config["offset.flush.timeout.ms"],
                measured,
                self._config["topic.tracking.enable"],
                self._time,
            )
        )

    def _sink_reporters(self, id: ConnectorTaskId, config: Config, errors: ErrorHandlingMetrics) -> list[ErrorReporter]:
        reporters = self._log_reporters(id, config, errors)
        known = sink_config_def(self._plugins).parse(config)
        topic = known[_DEAD_LETTERS].strip()
        if not topic:
            return reporters
        producer = self._clients.producer(id.connector, f"connector-dlq-producer-{id}", config)
        admin = make_admin(self._clients.admin(id.connector, "connector-dlq-adminclient-", config, SINK))
        try:
            ensure_topic(admin, topic, known["errors.deadletterqueue.topic.replication.factor"])
        finally:
            close_quietly(admin, "An admin client")
        has_headers = known["errors.deadletterqueue.context.headers.enable"]
        return [*reporters, DeadLetterQueueReporter(id, topic, make_producer(producer), errors, has_headers)]

    # -- parts

    def _log_reporters(self, id: ConnectorTaskId, config: Config, errors: ErrorHandlingMetrics) -> list[ErrorReporter]:
        known = connector_config_def(self._plugins).parse(config)
        return [LogReporter(id, known["errors.log.include.messages"], errors)] if known["errors.log.enable"] else []

    def _operator(self, config: Config, errors: ErrorHandlingMetrics) -> RetryWithToleranceOperator:
        known = connector_config_def(self._plugins).parse(config)
        return RetryWithToleranceOperator(
            known["errors.retry.timeout"],
            known["errors.retry.delay.max.ms"],
            ToleranceType(known["errors.tolerance"].lower()),
            errors,
            time=self._time,
        )

    def _converters(self, config: Config) -> tuple[Converter, Converter, HeaderConverter]:
        """Return the connector's converters, or the worker's where it has none."""
        key, value = (self._converter(config, f"{part}.converter", part == "key") for part in ("key", "value"))
        name, settings = self._plugin_settings(config, "header.converter", _SIMPLE_HEADERS)
        header = self._make(name, HeaderConverter, "HeaderConverter")
        header.configure({**settings, "converter.type": "header"}, False)
        return key, value, header

    def _converter(self, config: Config, name: str, is_key: bool) -> Converter:
        class_name, settings = self._plugin_settings(config, name, None)
        converter: Converter = self._make(class_name, Converter, "Converter")
        converter.configure(settings, is_key)
        return converter

    def _plugin_settings(self, config: Config, name: str, default: str | None) -> tuple[str, dict[str, object]]:
        source: Config = config if config.get(name) is not None else self._config.originals
        class_name = source.get(name) or default
        if class_name is None:
            raise ConnectException(f"Unable to initialize the Converter specified in '{name}'")
        prefix = f"{name}."
        return class_name, {key.removeprefix(prefix): value for key, value in source.items() if key.startswith(prefix)}

    def _make(self, name: str, base: type[Any], kind: str) -> Any:
        try:
            found = self._plugins.find_class(name)
        except LookupError:
            found = None
        if not (isinstance(found, type) and issubclass(found, base)):
            raise ConnectException(f"Failed to find any class that implements {kind} and which name matches {name}")
        return found()


def _source(task: Any) -> SourceTask:
    if not isinstance(task, SourceTask):
        raise ConnectException(f"{type(task).__name__} is not a source task")
    return task
