"""Stores source offsets of a standalone worker in a file (Kafka's `FileOffsetBackingStore`).

The file has Kafka's format, so that Java's worker can use it, and the reverse.
"""

from __future__ import annotations

import logging
import os
import stat
import tempfile
import threading
from collections.abc import Collection, Mapping
from concurrent.futures import Future
from pathlib import Path

from kafkapy.connect.errors import ConnectException
from kafkapy.connect.runtime.java_hash_map import JavaStreamError, read_map, write_map
from kafkapy.connect.storage import SetCallback
from kafkapy.connect.topics.offset_partitions import OffsetPartitions

log = logging.getLogger("kafkapy.connect.runtime")


class FileOffsetStore:
    """Invariant: after each `set` the file has the content of `_data`; it is replaced as a whole. All under `_lock`.

    Example:
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> store = FileOffsetStore(f"{folder.name}/offsets")
        >>> store.start()
        >>> store.set({b'["lines",{"file":"a"}]': b'{"position":5}'}).result()
        >>> store.connector_partitions("lines")
        [{'file': 'a'}]
    """

    def __init__(self, file: str | Path) -> None:
        """`file`: its path; a missing file is created."""
        self._file = Path(file)
        self._lock = threading.Lock()
        self._data: dict[bytes, bytes | None] = {}
        self._partitions = OffsetPartitions()

    def start(self) -> None:
        """Read the file. Raises ConnectException."""
        try:
            content = self._file.read_bytes() if self._is_replaceable() else b""
        except FileNotFoundError:
            content = b""
        except OSError as error:
            raise ConnectException(f"The offsets in {self._file} cannot be read: {error.strerror}") from error
        try:
            found = read_map(content) if content else {}
        except JavaStreamError as error:
            raise ConnectException(f"The offsets in {self._file} cannot be read: {error}") from error
        with self._lock:
            self._data = found
            for key, value in found.items():
                self._partitions.track(key, value is not None)

    def stop(self) -> None:
        """Do nothing, as each `set` has written the file."""

    def get(self, keys: Collection[bytes]) -> Future[dict[bytes, bytes | None]]:
        found: Future[dict[bytes, bytes | None]] = Future()
        with self._lock:
            values = {key: self._data.get(key) for key in keys}
        found.set_result(values)
        return found

    def set(self, values: Mapping[bytes, bytes | None], callback: SetCallback | None = None) -> Future[None]:
        """Write the values. The future fails with ConnectException."""
        written: Future[None] = Future()
        error: ConnectException | None = None
        with self._lock:
            self._data.update(values)
            for key, value in values.items():
                self._partitions.track(key, value is not None)
            try:
                self._save()
            except OSError as failure:
                error = ConnectException(f"The offsets in {self._file} cannot be written: {failure.strerror}")
                error.__cause__ = failure
        if error is None:
            written.set_result(None)
        else:
            written.set_exception(error)
        if callback is not None:
            callback(error)
        return written

    def connector_partitions(self, connector: str) -> list[dict[str, object]]:
        with self._lock:
            return self._partitions.of(connector)

    def _save(self) -> None:
        content = write_map(self._data)
        if not self._is_replaceable():
            self._file.write_bytes(content)
            return
        target = Path(os.path.realpath(self._file))
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else None
        handle, name = tempfile.mkstemp(prefix=f"{target.name}.", suffix=".tmp", dir=target.parent)
        try:
            with os.fdopen(handle, "wb") as opened:
                opened.write(content)
                opened.flush()
                os.fsync(opened.fileno())
            if mode is not None:
                os.chmod(name, mode)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise

    def _is_replaceable(self) -> bool:
        """Return whether the file can be replaced; a device such as /dev/null is written to instead."""
        return not self._file.exists() or self._file.is_file()
