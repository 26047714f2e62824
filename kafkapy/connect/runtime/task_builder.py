"""Makes tasks with their converters, transforms and clients (Kafka's `Worker.TaskBuilder`)."""

from __future__ import annotations

import logging
from typing import Any

from kafkapy.common.time import Time
from kafkapy.connect.clients import make_admin, make_producer
from kafkapy.connect.config.connector_configs import connector_config_def, source_config_def
from kafkapy.connect.converters.converter import Converter, HeaderConverter
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.herder.infos import SOURCE, Config
from kafkapy.connect.plugins import Plugins
from kafkapy.connect.runtime.abstract_source_task import SourceTaskParts
from kafkapy.connect.runtime.client_configs import ClientConfigs, ClientSettings
from kafkapy.connect.runtime.errors.retry_operator import RetryWithToleranceOperator
from kafkapy.connect.runtime.errors.stage import ToleranceType
from kafkapy.connect.runtime.exactly_once_source_task import ExactlyOnceWorkerSourceTask
from kafkapy.connect.runtime.offset_storage import OffsetStorageWriter, StoredOffsetReader
from kafkapy.connect.runtime.offset_stores import OffsetStores
from kafkapy.connect.runtime.source_task import WorkerSourceTask
from kafkapy.connect.runtime.task_contexts import WorkerSourceTaskContext
from kafkapy.connect.runtime.task_requests import TaskRequest
from kafkapy.connect.runtime.topic_creation import TopicCreation, configured_groups
from kafkapy.connect.runtime.transaction_boundaries import boundaries_of
from kafkapy.connect.runtime.transaction_context import WorkerTransactionContext
from kafkapy.connect.runtime.transformation_chain import TransformationChain, transformation_stages
from kafkapy.connect.runtime.worker_config import WorkerConfig
from kafkapy.connect.runtime.worker_task import WorkerTask
from kafkapy.connect.source import SourceTask, TransactionBoundary, TransactionContext
from kafkapy.connect.storage import StatusBackingStore

log = logging.getLogger("kafkapy.connect.runtime")

_SIMPLE_HEADERS = "org.apache.kafka.connect.storage.SimpleHeaderConverter"


class TaskBuilder:
    """Methods raise ConnectException, ConfigException, KafkaError: the task cannot be made."""

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

    # -- source tasks

    def source_task(self, request: TaskRequest, task: Any) -> WorkerTask:
        """Without exactly-once."""
        id, config = request.id, request.connector_config
        configs = self._clients.producer(id.connector, f"connector-producer-{id}", config)
        return WorkerSourceTask(self._source_parts(request, _source(task), configs, None))

    def exactly_once_source_task(self, request: TaskRequest, task: Any) -> WorkerTask:
        """With exactly-once."""
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
        operator = self._operator(config)
        chain = TransformationChain(transformation_stages(self._plugins, config), operator)
        key, value, header = self._converters(config)
        groups = configured_groups(config) if self._config["topic.creation.enable"] else None
        producer = make_producer(configs)
        admin = None
        if groups is not None:
            admin = make_admin(self._clients.admin(id.connector, f"connector-adminclient-{id}", config, SOURCE))
        store = self._stores.for_task(id.connector, str(id), config, producer, configs)
        reader = StoredOffsetReader(store, id.connector)
        return SourceTaskParts(
            id,
            task,
            request.listener,
            request.initial_state,
            key,
            value,
            header,
            chain,
            operator,
            tuple,
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
            time=self._time,
        )

    # -- sink tasks

    def sink_task(self, request: TaskRequest, task: Any) -> WorkerTask:
        """Not there yet: WorkerSinkTask."""
        raise ConnectException(f"Sink task {request.id} cannot run here yet")

    # -- parts

    def _operator(self, config: Config) -> RetryWithToleranceOperator:
        known = connector_config_def(self._plugins).parse(config)
        return RetryWithToleranceOperator(
            known["errors.retry.timeout"],
            known["errors.retry.delay.max.ms"],
            ToleranceType(known["errors.tolerance"].lower()),
            time=self._time,
        )

    def _converters(self, config: Config) -> tuple[Converter, Converter, HeaderConverter]:
        """The connector's, or the worker's where it has none."""
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
