"""Reading and changing the offsets of a whole connector (KIP-875), and fencing its earlier tasks (KIP-618)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from kafkapy.connect.clients import make_admin, make_producer
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.herder.callbacks import Callback
from kafkapy.connect.herder.infos import SINK, Config
from kafkapy.connect.plugins import Plugins
from kafkapy.connect.runtime.client_configs import ClientConfigs
from kafkapy.connect.runtime.offset_storage import (
    OffsetKeys,
    OffsetStorageWriter,
    StoredOffsetReader,
    validate_format,
)
from kafkapy.connect.runtime.offset_stores import OffsetStores
from kafkapy.connect.runtime.sink_offsets import SinkOffsets
from kafkapy.connect.runtime.worker_config import WorkerConfig
from kafkapy.connect.sink import SinkConnector
from kafkapy.connect.source import SourceConnector
from kafkapy.connect.storage import ConnectorTaskId

log = logging.getLogger("kafkapy.connect.runtime")

OffsetPairs = Sequence[tuple[Mapping[str, Any], "Mapping[str, Any] | None"]]
_TIMEOUT_S = 90.0


class ConnectorOffsets:
    """Runs each request on a thread of its own, because it calls the connector's code and waits for the cluster."""

    def __init__(self, worker: WorkerConfig, plugins: Plugins, clients: ClientConfigs, stores: OffsetStores) -> None:
        self._worker = worker
        self._plugins = plugins
        self._clients = clients
        self._stores = stores

    def read(self, name: str, config: Config, callback: Callback) -> None:
        """Read the offsets; `callback` is called with pairs of partition and offset."""

        def read() -> None:
            if isinstance(self._plugins.new_connector(config.get("connector.class") or ""), SinkConnector):
                text = f"Failed to retrieve consumer group offsets for sink connector {name}"
                _answer(callback, text, lambda: self._sink(name, config).read())
            else:
                text = f"Failed to retrieve offsets for source connector {name}"
                _answer(callback, text, lambda: self._read_source(name, config))

        _on_thread(f"connect-offsets-{name}", read, callback)

    def modify(self, name: str, config: Config, offsets: OffsetPairs | None, callback: Callback) -> None:
        """Set offsets; None resets all. `callback` is called with the message of the response."""

        def modify() -> None:
            connector = self._plugins.new_connector(config.get("connector.class") or "")
            own = {key: value for key, value in config.items() if value is not None}
            if isinstance(connector, SinkConnector):
                text = f"Failed to modify offsets for sink connector {name}"
                _answer(
                    callback, text, lambda: _message(self._sink(name, config).modify(connector, own, offsets), offsets)
                )
            elif isinstance(connector, SourceConnector):
                text = f"Failed to modify offsets for source connector {name}"
                _answer(callback, text, lambda: self._modify_source(connector, name, own, offsets))

        _on_thread(f"connect-offsets-{name}", modify, callback)

    def fence_zombies(self, name: str, tasks: int, config: Config) -> Future[None]:
        """Bump the epoch of each task's transactional id. The future fails with KafkaError, ConnectException."""
        fenced: Future[None] = Future()

        def fence() -> None:
            for number in range(tasks):
                configs = self._clients.exactly_once_producer(ConnectorTaskId(name, number), config)
                producer = make_producer(configs | {"client.id": f"connector-worker-adminclient-{name}"})
                try:
                    producer.init_transactions()
                finally:
                    producer.close(0)
            fenced.set_result(None)

        def failed(error: BaseException | None, _: Any) -> None:
            if error is not None:
                fenced.set_exception(error)

        _on_thread(f"connect-fence-{name}", fence, failed)
        return fenced

    def _sink(self, name: str, config: Config) -> SinkOffsets:
        configs = self._clients.admin(name, f"connector-worker-adminclient-{name}", config, SINK)
        return SinkOffsets(name, self._clients.group_id(name, config), lambda: make_admin(configs))

    def _read_source(self, name: str, config: Config) -> OffsetPairs:
        store = self._stores.for_connector(name, config)
        reader = StoredOffsetReader(store, name)
        try:
            store.start()
            partitions = store.connector_partitions(name)
            return list(zip(partitions, reader.offsets(partitions), strict=True))
        finally:
            reader.close()
            store.stop()

    def _modify_source(
        self, connector: SourceConnector, name: str, config: Mapping[str, str], offsets: OffsetPairs | None
    ) -> str:
        exactly_once = self._worker.exactly_once_source
        if exactly_once:
            configs = self._clients.exactly_once_producer(ConnectorTaskId(name, 0), config)
        else:
            configs = self._clients.producer(name, f"connector-offset-producer-{name}", config)
        producer = make_producer(configs)
        store = self._stores.for_connector(name, config, producer, configs)
        try:
            store.start()
            found = (
                [(partition, None) for partition in store.connector_partitions(name)] if offsets is None else offsets
            )
            wanted = _normalized(name, found)
            checked = _alter(connector, name, config, wanted)
            if wanted:
                writer = OffsetStorageWriter(store, name)
                for partition, offset in wanted:
                    writer.offset(partition, offset)
                _write(writer, producer if exactly_once else None, name)
            return _message(checked, offsets)
        finally:
            store.stop()
            producer.close(0)


def _alter(
    connector: SourceConnector,
    name: str,
    config: Mapping[str, str],
    wanted: Sequence[tuple[Any, dict[str, Any] | None]],
) -> bool:
    try:
        return connector.alter_offsets(config, wanted)
    except NotImplementedError as error:
        raise ConnectException(
            f"Failed to modify offsets for connector {name} because it doesn't support external modification of offsets"
        ) from error


def _write(writer: OffsetStorageWriter, transactional: Any, name: str) -> None:
    """Write the offsets. `transactional`: the producer of their transaction; None: without a transaction."""
    writer.begin_flush()
    if transactional is not None:
        transactional.init_transactions()
        transactional.begin_transaction()
    errors: list[BaseException | None] = []
    written = writer.flush(errors.append)
    if transactional is not None:
        transactional.commit_transaction()
    if written is None:
        raise ConnectException(f"Failed to modify offsets for source connector {name}") from errors[0]
    try:
        written.result(_TIMEOUT_S)
    except TimeoutError as error:
        raise ConnectException(f"Timed out while attempting to modify offsets for source connector {name}") from error
    except Exception as error:
        raise ConnectException(f"Failed to modify offsets for source connector {name}") from error


def _normalized(name: str, offsets: OffsetPairs) -> list[tuple[Any, dict[str, Any] | None]]:
    """Return the offsets in the form that a task reads: after a round trip through JSON. Raises DataException."""
    keys = OffsetKeys(name)

    def again(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
        return keys.offset(keys.value(value))

    result = []
    for partition, offset in offsets:
        validate_format(partition)
        result.append((again(partition), again(offset)))
    return result


def _message(checked: bool, offsets: OffsetPairs | None) -> str:
    done = "reset" if offsets is None else "altered"
    if checked:
        return f"The offsets for this connector have been {done} successfully"
    return (
        f"The Connect framework-managed offsets for this connector have been {done} successfully. However, if this "
        f"connector manages offsets externally, they will need to be manually {done} in the system that the connector uses."
    )


def _answer(callback: Callback, text: str, work: Callable[[], Any]) -> None:
    try:
        result = work()
    except ConnectException as error:
        log.error("%s: %s", text, error)
        callback(error, None)
    except Exception as error:
        log.error("%s: %s", text, error)
        wrapped = ConnectException(text)
        wrapped.__cause__ = error
        callback(wrapped, None)
    else:
        callback(None, result)


def _on_thread(name: str, work: Callable[[], None], callback: Callback) -> None:
    def run() -> None:
        try:
            work()
        except BaseException as error:
            callback(error, None)

    threading.Thread(target=run, name=name, daemon=True).start()
