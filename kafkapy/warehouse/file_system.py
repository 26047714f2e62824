"""The file operations of ledger and sink, on the local file system or any that Hadoop supports."""

from __future__ import annotations

import os
import shutil
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit
from uuid import uuid4


class FileExists(Exception):
    """A file of that name exists already and is unchanged."""


class FileSystem(ABC):
    """Paths are relative to `root`, with slashes. Raises OSError if the storage fails."""

    root: str
    is_local: bool

    def url(self, path: str) -> str:
        """Return the path as a URL for Spark."""
        return f"{self.root.rstrip('/')}/{path}"

    @abstractmethod
    def read(self, path: str) -> bytes: ...

    @abstractmethod
    def create(self, path: str, data: bytes) -> None:
        """Create a file atomically. Raises FileExists."""

    @abstractmethod
    def names(self, directory: str) -> list[str]:
        """List a directory, sorted, without hidden files; empty if it does not exist."""

    @abstractmethod
    def rename(self, old: str, new: str) -> None:
        """Rename a file; the target's directory must exist."""

    @abstractmethod
    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its contents; nothing happens if it does not exist."""

    @abstractmethod
    def make_directory(self, path: str) -> None: ...

    @abstractmethod
    def size(self, directory: str) -> tuple[int, int]:
        """Return the number and bytes of files below a directory, without hidden ones."""


def is_hidden(name: str) -> bool:
    """Return whether Spark treats the file as hidden, which is no data."""
    return name.startswith(("_", "."))


class LocalFileSystem(FileSystem):
    is_local = True

    def __init__(self, directory: Path | str) -> None:
        self.directory = Path(directory).absolute()
        self.root = self.directory.as_uri()

    def path(self, path: str) -> Path:
        return self.directory / path

    def read(self, path: str) -> bytes:
        return self.path(path).read_bytes()

    def create(self, path: str, data: bytes) -> None:
        target = self.path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.parent / f".{target.name}.{uuid4().hex}"
        try:
            with open(temporary, "xb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            try:
                os.link(temporary, target)  # unlike a rename, it does not replace an existing file
            except FileExistsError:
                raise FileExists(path) from None
            _sync_directory(target.parent)
        finally:
            temporary.unlink(missing_ok=True)

    def names(self, directory: str) -> list[str]:
        try:
            return sorted(name for name in os.listdir(self.path(directory)) if not name.startswith("."))
        except FileNotFoundError:
            return []

    def rename(self, old: str, new: str) -> None:
        os.rename(self.path(old), self.path(new))

    def delete(self, path: str) -> None:
        target = self.path(path)
        if target.is_dir():
            shutil.rmtree(target, ignore_errors=True)
        else:
            target.unlink(missing_ok=True)

    def make_directory(self, path: str) -> None:
        self.path(path).mkdir(parents=True, exist_ok=True)

    def size(self, directory: str) -> tuple[int, int]:
        files = [
            Path(place) / name
            for place, _, names in os.walk(self.path(directory))
            for name in names
            if not is_hidden(name)
        ]
        return len(files), sum(file.stat().st_size for file in files)


class HadoopFileSystem(FileSystem):
    """Uses the JVM of a Spark session, and so supports its Hadoop configuration (`hdfs://`, `s3a://` …)."""

    is_local = False

    def __init__(self, spark: Any, root: str) -> None:
        self.root = root.rstrip("/")
        self._jvm = spark._jvm
        configuration = spark._jsparkSession.sessionState().newHadoopConf()
        self._files = self._path("").getFileSystem(configuration)

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self.root}/{path}" if path else f"{self.root}/")

    def read(self, path: str) -> bytes:
        with _java_errors(path):
            stream = self._files.open(self._path(path))
            try:
                return bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
            finally:
                stream.close()

    def create(self, path: str, data: bytes) -> None:
        target = self._path(path)
        temporary = self._path(f"{path.rpartition('/')[0]}/.{uuid4().hex}")
        with _java_errors(path):
            stream = self._files.create(temporary, False)
            try:
                stream.write(bytearray(data))
                if hasattr(stream, "hsync"):
                    stream.hsync()
            finally:
                stream.close()
            if self._files.exists(target) or not self._files.rename(temporary, target):
                self._files.delete(temporary, False)
                raise FileExists(path)

    def names(self, directory: str) -> list[str]:
        with _java_errors(directory):
            if not self._files.exists(self._path(directory)):
                return []
            found = [status.getPath().getName() for status in self._files.listStatus(self._path(directory))]
        return sorted(name for name in found if not name.startswith("."))

    def rename(self, old: str, new: str) -> None:
        with _java_errors(old):
            if not self._files.rename(self._path(old), self._path(new)):
                raise OSError(f"{self.url(old)} could not be renamed to {new}")

    def delete(self, path: str) -> None:
        with _java_errors(path):
            self._files.delete(self._path(path), True)

    def make_directory(self, path: str) -> None:
        with _java_errors(path):
            self._files.mkdirs(self._path(path))

    def size(self, directory: str) -> tuple[int, int]:
        with _java_errors(directory):
            if not self._files.exists(self._path(directory)):
                return 0, 0
            files = size = 0
            found = self._files.listFiles(self._path(directory), True)
            while found.hasNext():
                status = found.next()
                if not is_hidden(status.getPath().getName()):
                    files, size = files + 1, size + status.getLen()
            return files, size


class _java_errors:
    """Converts Java's exceptions to OSError with their message."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        from py4j.protocol import Py4JJavaError

        if isinstance(error, Py4JJavaError):
            text = str(error.java_exception)
            if "FileNotFoundException" in text:
                raise FileNotFoundError(f"{self._path}: {text}") from error
            raise OSError(f"{self._path}: {text}") from error


def file_system(url: str, spark: Any) -> FileSystem:
    """Return the file system of a table root; a path or `file:` URL is local. `spark`: needed for others."""
    parts = urlsplit(url)
    if parts.scheme in ("", "file"):
        return LocalFileSystem(unquote(parts.path))
    return HadoopFileSystem(spark, url)


def _sync_directory(directory: Path) -> None:
    """Sync a directory, so that new names survive a power failure. Not possible on Windows."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
