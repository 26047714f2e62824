"""Detects changed files of key and trust stores, and reloads them. Apache Kafka 3.9.1 does not do so by itself."""

from __future__ import annotations

import os
import ssl
import threading
from collections.abc import Callable
from typing import NamedTuple, Protocol

from kafkapy.security.tls.config_values import TlsConfigs
from kafkapy.security.tls.ssl_factory import SslFactory
from kafkapy.security.tls.stores import ReadFile, read_store_file, store_files


class FileStatus(Protocol):
    """The used fields of an `os.stat_result`."""

    @property
    def st_mtime_ns(self) -> int: ...

    @property
    def st_size(self) -> int: ...

    @property
    def st_ino(self) -> int: ...


Stat = Callable[[str], FileStatus]


class _Stamp(NamedTuple):
    """Identifies a version of a file. A missing file has None instead."""

    modified_ns: int
    size: int
    inode: int


_Stamps = dict[str, _Stamp | None]


class _Candidate(NamedTuple):
    """The factory `fresh` that `validate` has made from `before` with other configs, and the files' stamps."""

    before: SslFactory
    stamps: _Stamps
    fresh: SslFactory


class StoreWatch:
    """The `SslFactory` of a listener, kept up to date with its configs and its files.

    Invariants: `_stamps` are never newer than the files that `factory` was made of, since the stamps are read first.
    So a file that is replaced between the two reads is detected at the next check. Files that were refused are not
    tried again until they change.

    Thread-safe: `_lock` is held during changes.

    Example:
        >>> watch = StoreWatch({"ssl.truststore.type": "PEM"}, server_side=False)
        >>> watch.refresh()
        False
    """

    def __init__(
        self,
        configs: TlsConfigs,
        *,
        server_side: bool = True,
        verifiable: bool = False,
        stat: Stat = os.stat,
        read_file: ReadFile = read_store_file,
    ) -> None:
        """
        Parameters:
            configs: Kafka's `ssl.*` without the listener's prefix.
            server_side: True for a listener, False for a client.
            verifiable: Whether it is the listener between brokers: see `SslFactory`.
            stat: Returns the status of a file; raises OSError.
            read_file: Reads a store.

        Raises:
            ConfigException: The stores cannot be used.
            MissingExtra: A store needs `cryptography`, which is not installed.
        """
        self._stat = stat
        self._read_file = read_file
        self._lock = threading.Lock()
        self._candidate: _Candidate | None = None
        self._stamps = self._look(configs)
        self.factory = SslFactory(configs, server_side=server_side, verifiable=verifiable, read_file=read_file)

    @property
    def context(self) -> ssl.SSLContext:
        """The context for new connections. Existing connections keep the one they have."""
        return self.factory.context

    def changed(self) -> bool:
        """Return whether a file has changed since it was last loaded or refused. Costs one `stat` a file."""
        return self._look(self.factory.configs) != self._stamps

    def refresh(self) -> bool:
        """Reload the files if one has changed.

        Returns:
            Whether `context` was replaced.

        Raises:
            ConfigException: The new files are invalid, with Kafka's message. Raised once for each change; the context
                stays as it was.
        """
        with self._lock:
            stamps = self._look(self.factory.configs)
            if stamps == self._stamps:
                return False
            self._stamps = stamps
            self.factory = self.factory.rebuilt(read_file=self._read_file)
            return True

    def validate(self, configs: TlsConfigs) -> None:
        """Check whether `reconfigure` would accept these configs. Raises ConfigException with Kafka's message.

        The new factory is kept for `reconfigure`, which then does not read the stores again.
        """
        with self._lock:
            self._candidate_of(configs)

    def reconfigure(self, configs: TlsConfigs) -> None:
        """Replace the configs and reload the files (AlterConfigs of a broker).

        Raises:
            ConfigException: The configs or files are invalid, with Kafka's message; the context stays as it was.
        """
        with self._lock:
            candidate = self._candidate_of(configs)
            self.factory, self._stamps, self._candidate = candidate.fresh, candidate.stamps, None

    def _candidate_of(self, configs: TlsConfigs) -> _Candidate:
        stamps, known = self._look(configs), self._candidate
        if (
            known is None
            or known.before is not self.factory
            or known.stamps != stamps
            or known.fresh.configs != dict(configs)
        ):
            self._candidate = None
            known = _Candidate(self.factory, stamps, self.factory.rebuilt(configs, self._read_file))
            self._candidate = known
        return known

    def _look(self, configs: TlsConfigs) -> _Stamps:
        return {path: self._stamp(path) for path in store_files(configs)}

    def _stamp(self, path: str) -> _Stamp | None:
        try:
            found = self._stat(path)
        except OSError:
            return None
        return _Stamp(found.st_mtime_ns, found.st_size, found.st_ino)
