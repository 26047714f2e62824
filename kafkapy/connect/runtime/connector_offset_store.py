"""A connector's offsets: those in its own topic, with the worker's as fallback (Kafka's
`ConnectorOffsetBackingStore`)."""

from __future__ import annotations

import logging
from collections.abc import Collection, Mapping
from concurrent.futures import Future, InvalidStateError

from kafkapy.connect.runtime.partition_key import partition_key
from kafkapy.connect.storage import OffsetBackingStore, SetCallback

log = logging.getLogger("kafkapy.connect.runtime")

Values = Mapping[bytes, "bytes | None"]


class ConnectorOffsetStore:
    """Reads from both stores; the connector's has precedence. A write is complete when the connector's store has it;
    the worker's gets a copy afterwards. Only tombstones are written to the worker's first, or else reads would return
    deleted offsets.

    Invariant: there is at least one store. The worker's is started and stopped by the worker.
    """

    def __init__(
        self, worker: OffsetBackingStore | None, connector: OffsetBackingStore | None, primary_topic: str | None
    ) -> None:
        """
        Args:
            worker: The worker's store. None: it is unused.
            connector: The connector's own store. None: there is none.
            primary_topic: The topic of the primary store. None: it is a file.
        """
        self._worker = worker
        self._connector = connector
        self.primary_topic = primary_topic

    def start(self) -> None:
        """Start the connector's store. Raises ConnectException, ConfigException, KafkaError."""
        if self._connector is not None:
            self._connector.start()

    def stop(self) -> None:
        if self._connector is not None:
            self._connector.stop()

    close = stop

    def get(self, keys: Collection[bytes]) -> Future[dict[bytes, bytes | None]]:
        if self._connector is None or self._worker is None:
            return self._primary.get(keys)
        return _merged(self._worker.get(keys), self._connector.get(keys))

    def set(self, values: Values, callback: SetCallback | None = None) -> Future[None]:
        second = None if self._connector is None else self._worker
        gone = {key: value for key, value in values.items() if value is None}
        if second is None or not gone:
            return self._set_primary(values, second, callback)
        done: Future[None] = Future()

        def finish(error: BaseException | None) -> None:
            if callback is not None:
                callback(error)
            _end(done, error)

        def tombstones_written(error: BaseException | None) -> None:
            if error is not None:
                finish(error)
            else:
                self._set_primary(values, second, finish)

        second.set(gone, tombstones_written)
        return done

    def connector_partitions(self, connector: str) -> list[dict[str, object]]:
        stores = [store for store in (self._worker, self._connector) if store is not None]
        found = {
            partition_key(partition): partition
            for store in stores
            for partition in store.connector_partitions(connector)
        }
        return list(found.values())

    @property
    def _primary(self) -> OffsetBackingStore:
        store = self._worker if self._connector is None else self._connector
        assert store is not None
        return store

    def _set_primary(
        self, values: Values, second: OffsetBackingStore | None, callback: SetCallback | None
    ) -> Future[None]:
        def written(error: BaseException | None) -> None:
            if second is not None and error is None:
                kept = {key: value for key, value in values.items() if value is not None}
                try:
                    second.set(kept, _log_second)
                except Exception as failure:
                    _log_second(failure)
            if callback is not None:
                callback(error)

        return self._primary.set(values, written)


def _log_second(error: BaseException | None) -> None:
    if error is not None:
        log.warning("The offsets cannot be copied into the worker's store: %s", error)


def _end(done: Future[None], error: BaseException | None) -> None:
    try:
        if error is None:
            done.set_result(None)
        else:
            done.set_exception(error)
    except InvalidStateError:
        pass  # the waiting caller has cancelled it


def _merged(
    first: Future[dict[bytes, bytes | None]], second: Future[dict[bytes, bytes | None]]
) -> Future[dict[bytes, bytes | None]]:
    """Merge two results; the second one has precedence. Cancelling the result cancels both."""
    merged: Future[dict[bytes, bytes | None]] = Future()

    def cancelled(_: Future[dict[bytes, bytes | None]]) -> None:
        if merged.cancelled():
            first.cancel()
            second.cancel()

    def first_done(_: Future[dict[bytes, bytes | None]]) -> None:
        second.add_done_callback(both_done)

    def both_done(_: Future[dict[bytes, bytes | None]]) -> None:
        if first.cancelled() or second.cancelled():
            merged.cancel()
            return
        error = first.exception() or second.exception()
        try:
            if error is not None:
                merged.set_exception(error)
            else:
                newer = {key: value for key, value in second.result().items() if value is not None}
                merged.set_result({**first.result(), **newer})
        except InvalidStateError:
            pass  # it was cancelled meanwhile

    merged.add_done_callback(cancelled)
    first.add_done_callback(first_done)
    return merged
