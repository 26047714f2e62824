"""Writing and reading source offsets in a store of bytes (Kafka's `OffsetStorageWriter`, `OffsetStorageReaderImpl`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import CancelledError, Future
from typing import Any

from kafkapy.connect.converters.json_converter import JsonConverter
from kafkapy.connect.errors import ConnectException, DataException
from kafkapy.connect.runtime.partition_key import PartitionKey, partition_key
from kafkapy.connect.storage import OffsetBackingStore, SetCallback

log = logging.getLogger("kafkapy.connect.runtime")

Partition = Mapping[str, Any] | None
Offset = Mapping[str, Any] | None
_PRIMITIVES = (bool, int, float, str, bytes, bytearray)


def internal_converter() -> JsonConverter:
    """The converter of keys and values of offsets: JSON without schemas."""
    converter = JsonConverter()
    converter.configure({"schemas.enable": "false"}, is_key=False)
    return converter


def validate_format(value: Any) -> None:
    """Validate a partition or offset. Raises DataException unless it is a map from strings to primitive values, or
    None."""
    if value is None:
        return
    if not isinstance(value, Mapping):
        raise DataException("Offsets must be specified as a Map")
    for name, entry in value.items():
        if not isinstance(name, str):
            raise DataException("Offsets may only use String keys")
        if entry is not None and not isinstance(entry, _PRIMITIVES):
            raise DataException(
                f"Offsets may only contain primitive types as values, but field {name} contains {_kind_of(entry)}"
            )


def _kind_of(value: Any) -> str:
    if isinstance(value, Mapping):
        return "MAP"
    return "ARRAY" if isinstance(value, (list, tuple)) else f"class {type(value).__name__}"


class OffsetKeys:
    """Converts partitions and offsets of one connector to bytes and back."""

    def __init__(self, connector: str) -> None:
        self.connector = connector
        self._converter = internal_converter()

    def key(self, partition: Partition) -> bytes:
        """Raises DataException."""
        validate_format(partition)
        return (
            self._converter.from_connect_data(
                self.connector, None, [self.connector, None if partition is None else dict(partition)]
            )
            or b""
        )

    def value(self, offset: Offset) -> bytes | None:
        """Raises DataException."""
        validate_format(offset)
        return None if offset is None else self._converter.from_connect_data(self.connector, None, dict(offset))

    def offset(self, value: bytes | None) -> dict[str, Any] | None:
        """Raises DataException."""
        found = self._converter.to_connect_data(self.connector, value).value
        validate_format(found)
        return None if found is None else dict(found)


class OffsetStorageWriter:
    """Collects offsets, and writes those set since the last flush.

    Invariant: `_to_flush` is not None during a flush; a failed or cancelled flush returns its offsets to `_data`,
    where newer ones have precedence. All under `_lock`. `_flush_id` identifies late callbacks of a cancelled flush.
    """

    def __init__(self, store: OffsetBackingStore, connector: str) -> None:
        """
        Args:
            store: The store of bytes. connector: Name of the connector, part of each key."""
        self._store = store
        self._keys = OffsetKeys(connector)
        self._lock = threading.Lock()
        self._idle = threading.Condition(self._lock)
        self._data: dict[PartitionKey, tuple[Partition, Offset]] = {}
        self._to_flush: dict[PartitionKey, tuple[Partition, Offset]] | None = None
        self._flush_id = 0

    def offset(self, partition: Partition, offset: Offset) -> None:
        """Set an offset; None deletes the partition's."""
        with self._lock:
            self._data[partition_key(partition)] = (partition, offset)

    def begin_flush(self, timeout_ms: float = 0) -> bool:
        """Take a snapshot of the offsets for `flush`.

        Args:
            timeout_ms: How long to wait for an earlier flush.

        Returns:
            False: there is nothing to write.

        Raises:
            TimeoutError: The earlier flush is still in progress.
        """
        with self._lock:
            if not self._idle.wait_for(lambda: self._to_flush is None, max(0.0, timeout_ms / 1000)):
                raise TimeoutError("Timed out waiting for previous flush to finish")
            if not self._data:
                return False
            self._to_flush, self._data = self._data, {}
            return True

    def flush(self, callback: SetCallback) -> Future[None] | None:
        """Write the snapshot of `begin_flush`.

        Args:
            callback: Called at the end, unless `cancel_flush` was called before.

        Returns:
            None: the offsets cannot be converted to JSON; `callback` was called.
        """
        with self._lock:
            flush_id = self._flush_id
            taken = list((self._to_flush or {}).values())
        try:
            values = {self._keys.key(partition): self._keys.value(offset) for partition, offset in taken}
        except Exception as error:
            log.error(
                "The offsets of %s cannot be serialized, and none are committed until they are overwritten",
                self._keys.connector,
                exc_info=error,
            )
            callback(error)
            return None

        def finished(error: BaseException | None) -> None:
            if self._finish(flush_id, error):
                callback(error)

        return self._store.set(values, finished)

    def cancel_flush(self) -> None:
        """Cancel a flush: the next one will write its offsets."""
        with self._lock:
            self._give_back()

    def _give_back(self) -> None:
        if self._to_flush is not None:
            self._data = {**self._to_flush, **self._data}
            self._end_flush()

    def _end_flush(self) -> None:
        self._flush_id += 1
        self._to_flush = None
        self._idle.notify_all()

    def _finish(self, flush_id: int, error: BaseException | None) -> bool:
        with self._lock:
            if flush_id != self._flush_id:
                return False
            if error is not None:
                self._give_back()
            else:
                self._end_flush()
            return True


class StoredOffsetReader:
    """Reads a connector's offsets; `close` ends blocked reads (Kafka's `CloseableOffsetStorageReader`).

    Invariant: `_reads` has the blocked reads, under `_lock`.
    """

    def __init__(self, store: OffsetBackingStore, connector: str) -> None:
        """
        Args:
            store: Has the bytes.
            connector: Its name is in each key.
        """
        self._store = store
        self._keys = OffsetKeys(connector)
        self._lock = threading.Lock()
        self._reads: set[Future[dict[bytes, bytes | None]]] = set()
        self._closed = False

    def offset(self, partition: Mapping[str, Any]) -> dict[str, Any] | None:
        return self.offsets([partition])[0]

    def offsets(self, partitions: Sequence[Mapping[str, Any]]) -> list[dict[str, Any] | None]:
        """Read offsets. Malformed ones are logged and count as missing. Raises ConnectException."""
        keys = [self._key(partition) for partition in partitions]
        found = self._read([key for key in keys if key is not None])
        return [None if key is None else self._value(found.get(key)) for key in keys]

    def close(self) -> None:
        with self._lock:
            self._closed = True
            reads = list(self._reads)
        for read in reads:
            read.cancel()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, bytes | None]:
        try:
            with self._lock:
                if self._closed:
                    raise ConnectException(
                        "Offset reader is closed. This is likely because the task has already been scheduled to stop but "
                        "has taken longer than the graceful shutdown period to do so."
                    )
                read = self._store.get(keys)
                self._reads.add(read)
            try:
                return read.result()
            except CancelledError:
                raise ConnectException(
                    "Offset reader closed while attempting to read offsets. This is likely because the task was been "
                    "scheduled to stop but has taken longer than the graceful shutdown period to do so."
                ) from None
            finally:
                with self._lock:
                    self._reads.discard(read)
        except Exception as error:
            log.error("The offsets of %s cannot be read: %s", self._keys.connector, error)
            raise ConnectException("Failed to fetch offsets.") from error

    def _key(self, partition: Mapping[str, Any]) -> bytes | None:
        try:
            return self._keys.key(partition)
        except Exception as error:
            log.error("A source partition of %s cannot be serialized: %s", self._keys.connector, error)
            return None

    def _value(self, value: bytes | None) -> dict[str, Any] | None:
        try:
            return self._keys.offset(value)
        except Exception as error:
            log.error("An offset of %s cannot be read: %s", self._keys.connector, error)
            return None
