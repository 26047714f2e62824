"""Stores source offsets in a compacted topic (Kafka's `KafkaOffsetBackingStore`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Mapping
from concurrent.futures import Future, InvalidStateError

from kafkapy.connect.storage import SetCallback
from kafkapy.connect.topics.config_store import MakeLog
from kafkapy.connect.topics.offset_partitions import OffsetPartitions
from kafkapy.connect.topics.topic_log import LogRecord

log = logging.getLogger("kafkapy.connect.topics")


class KafkaOffsetStore:
    """Invariant: `_data` and `_partitions` have the offsets read so far; both are accessed under `_lock`."""

    def __init__(self, make_log: MakeLog) -> None:
        """`make_log`: creates the log of the worker's or the connector's offsets topic."""
        self._log = make_log(self._read)
        self._lock = threading.Lock()
        self._data: dict[bytes, bytes] = {}
        self._partitions = OffsetPartitions()

    def start(self) -> None:
        """Raises ConnectException, ConfigException, KafkaError."""
        self._log.start()

    def stop(self) -> None:
        self._log.stop()

    def get(self, keys: Collection[bytes]) -> Future[dict[bytes, bytes | None]]:
        """Read the topic to its current end; return a future of the values. It fails with KafkaError,
        ConnectException."""
        wanted = list(keys)
        found: Future[dict[bytes, bytes | None]] = Future()

        def finish(read: Future[None]) -> None:
            if not found.set_running_or_notify_cancel():
                return  # the reader was closed
            error = read.exception()
            if error is not None:
                found.set_exception(error)
                return
            with self._lock:
                values = {key: self._data.get(key) for key in wanted}
            found.set_result(values)

        self._log.read_to_end().add_done_callback(finish)
        return found

    def set(self, values: Mapping[bytes, bytes | None], callback: SetCallback | None = None) -> Future[None]:
        """Write all values; the future fails with the first error."""
        written: Future[None] = Future()
        left = len(values)
        lock = threading.Lock()

        def finish(error: BaseException | None) -> None:
            try:
                if error is None:
                    written.set_result(None)
                else:
                    written.set_exception(error)
            except InvalidStateError:
                return  # an earlier record has failed
            if callback is not None:
                callback(error)

        def done(error: BaseException | None) -> None:
            nonlocal left
            with lock:
                left -= 1
                last = left == 0
            if error is not None or last:
                finish(error)

        if not values:
            finish(None)
        for key, value in values.items():
            self._log.send(key, value, done)
        return written

    def connector_partitions(self, connector: str) -> list[dict[str, object]]:
        with self._lock:
            return self._partitions.of(connector)

    def _read(self, record: LogRecord) -> None:
        key = record.key
        if key is None:
            log.warning("Ignoring offset partition key with an unexpected null value")
            return
        with self._lock:
            self._partitions.track(key, record.value is not None)
            if record.value is None:
                self._data.pop(key, None)
            else:
                self._data[key] = record.value
