"""Files of an object store or file system, by fsspec."""

from __future__ import annotations

import contextlib
import posixpath
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.errors import ConnectException, RetriableException

_ATOMIC: Final = frozenset({"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "memory", "oss", "r2"})
"""Stores in which an object appears when its upload is complete."""
_FINAL_ERRORS: Final = (
    PermissionError,
    FileNotFoundError,
    NotADirectoryError,
    IsADirectoryError,
    ValueError,
    TypeError,
)
_PACKAGES: Final = {"s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "az": "adlfs", "abfs": "adlfs"}


def require_packages(url: str) -> None:
    """Check that the packages for a store are installed.

    Raises:
        ConnectException: One is missing; the message has the command that installs it.
    """
    require("connect-objects", "fsspec", "A connector to an object store")
    protocol = _protocol(url)
    if protocol in _PACKAGES:
        require("connect-objects", _PACKAGES[protocol], f"A store of {protocol}://")


def _protocol(url: str) -> str:
    return url.partition("://")[0] if "://" in url else "file"


class ObjectStore:
    """A folder in a store.

    Invariant: a name is either absent or the name of a whole file.

    Args:
        url: Of the folder, such as `s3://bucket/prefix` or `file:///data`.
        options: For the class of fsspec, such as `key` and `secret`.
        part_bytes: Size of the parts of an upload. Default: 25 MiB.

    Raises:
        ConnectException: A package is missing, or fsspec does not know the protocol.

    Example:
        >>> store = ObjectStore("memory://example", {})
        >>> import tempfile
        >>> with tempfile.NamedTemporaryFile() as file:
        ...     _ = file.write(b"abc"), file.flush()
        ...     store.upload(file.name, "a/b.txt")
        >>> store.read("a/b.txt"), store.read("missing")
        (b'abc', None)
    """

    def __init__(self, url: str, options: Mapping[str, Any], part_bytes: int = 25 << 20) -> None:
        require_packages(url)
        import fsspec

        protocol = _protocol(url)
        # The listings cache would only hold memory: nothing is listed.
        options = {"use_listings_cache": False, "skip_instance_cache": True, **options}
        try:
            self._files, root = fsspec.core.url_to_fs(url, **options)
        except (ValueError, ImportError) as error:
            raise ConnectException(f"The store {url} cannot be opened: {error}") from error
        self.url = url
        self._root = root.rstrip("/")
        self._is_atomic = protocol in _ATOMIC
        self._part_bytes = part_bytes

    def upload(self, local_path: str, name: str) -> None:
        """Store a file, in place of one of the same name.

        Raises:
            RetriableException: It failed, and another attempt may succeed.
            ConnectException: It failed for good, for example for want of permissions.
        """
        with self._errors(f"{name} cannot be uploaded"), Path(local_path).open("rb") as file:
            self._write(file, name)

    def write(self, data: bytes, name: str) -> None:
        """Store a small file. Raises the same as `upload`."""
        import io

        with self._errors(f"{name} cannot be written"):
            self._write(io.BytesIO(data), name)

    def read(self, name: str) -> bytes | None:
        """Return the bytes of a small file, None if there is none. Raises the same as `upload`."""
        with self._errors(f"{name} cannot be read"):
            try:
                data: bytes = self._files.cat_file(self._path(name))
            except FileNotFoundError:
                return None
            return data

    def files(self, folder: str) -> list[tuple[str, int]]:
        """Return names and sizes of all files in a folder, and below it. Raises the same as `upload`."""
        with self._errors(f"{folder} cannot be listed"):
            root = self._files._strip_protocol(self._root)
            try:
                found = self._files.find(self._path(folder), detail=True)
            except FileNotFoundError:
                return []
            return [(name.removeprefix(root).lstrip("/"), int(each.get("size") or 0)) for name, each in found.items()]

    def exists(self, name: str) -> bool:
        """Return whether there is a file. Raises the same as `upload`."""
        with self._errors(f"{name} cannot be read"):
            return bool(self._files.isfile(self._path(name)))

    @contextlib.contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """Open a file for reading. Raises the same as `upload`."""
        with self._errors(f"{name} cannot be read"), self._files.open(self._path(name), "rb") as file:
            yield file

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _write(self, source: BinaryIO, name: str) -> None:
        path = self._path(name)
        if self._is_atomic:
            self._copy(source, path)
            return
        folder, _, last = path.rpartition("/")
        temporary = posixpath.join(folder, f".{last}.tmp")
        self._files.makedirs(folder, exist_ok=True)
        self._copy(source, temporary)
        if "file" in self._protocols():
            shutil.move(temporary, path)  # replaces in one step
        else:
            with contextlib.suppress(FileNotFoundError):
                self._files.rm_file(path)
            self._files.mv(temporary, path)

    def _protocols(self) -> tuple[str, ...]:
        protocol = self._files.protocol
        return (protocol,) if isinstance(protocol, str) else tuple(protocol)

    def _copy(self, source: BinaryIO, path: str) -> None:
        options = {"block_size": max(self._part_bytes, 5 << 20)} if self._is_atomic else {}
        target = self._files.open(path, "wb", **options)
        try:
            shutil.copyfileobj(source, target, 1 << 20)
            target.close()
        except BaseException:
            # An upload must not be completed by the end of the object.
            with contextlib.suppress(Exception):
                target.discard()
            with contextlib.suppress(AttributeError):
                target.closed = True
            raise

    @contextlib.contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except ConnectException:
            raise
        except _FINAL_ERRORS as error:
            raise ConnectException(f"In {self.url}, {what}: {error}") from error
        except Exception as error:  # each store has classes of its own for networks and throttling
            raise RetriableException(f"In {self.url}, {what}: {error}") from error
