"""Notices when the files of stores change, which Apache Kafka 3.9.1 does not do by itself."""

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
    """What is looked at of an `os.stat_result`."""

    @property
    def st_mtime_ns(self) -> int: ...

    @property
    def st_size(self) -> int: ...

    @property
    def st_ino(self) -> int: ...


Stat = Callable[[str], FileStatus]


class _Stamp(NamedTuple):
    """What tells a file from the one that was there before; a file that is missing has none."""

    modified_ns: int
    size: int
    inode: int


_Stamps = dict[str, _Stamp | None]


class _Candidate(NamedTuple):
    """What `before` becomes with other configs and the files that `stamps` tell apart."""

    before: SslFactory
    stamps: _Stamps
    fresh: SslFactory


class StoreWatch:
    """The `SslFactory` of a listener, kept up to date with its configs and its files.

    Invariant: `factory` was made of files that were at least as new as `_stamps` say, since they are looked at before the files
    are read; so a file that is replaced in between is noticed at the next look. A set of files that was refused is not tried
    again before it changes. Any thread may use it: `_lock` is held while something is changed.

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
            server_side: Of a listener, not of a client.
            verifiable: Of a listener between brokers: see `SslFactory`.
            stat: Looks at a file; raises OSError.
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
        """For the next connection. Those that are there keep theirs."""
        return self.factory.context

    def changed(self) -> bool:
        """Is a file another one than it was when it was last tried? Cheap: one `stat` a file."""
        return self._look(self.factory.configs) != self._stamps

    def refresh(self) -> bool:
        """Take files that have changed.

        Returns:
            Whether `context` is a new one.

        Raises:
            ConfigException: The new files are refused, in Kafka's words; it is raised once for each change, and the context
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
        """Could `reconfigure` take these? Raises ConfigException, in Kafka's words.

        What is made of them is kept for `reconfigure`, which need not read the stores again.
        """
        with self._lock:
            self._candidate_of(configs)

    def reconfigure(self, configs: TlsConfigs) -> None:
        """Take other configs, and the files as they are now (AlterConfigs of a broker).

        Raises:
            ConfigException: They are refused, in Kafka's words; the context stays as it was.
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
