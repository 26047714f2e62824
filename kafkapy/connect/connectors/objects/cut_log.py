"""Where files of a partition have ended by the clock, in the store."""

from __future__ import annotations

import json
from bisect import bisect_right, insort
from typing import Final, Protocol

from kafkapy.connect.errors import ConnectException

_MOST: Final = 1000


class SmallFiles(Protocol):
    """The part of a store that holds the log."""

    def read(self, name: str) -> bytes | None: ...
    def write(self, data: bytes, name: str) -> None: ...


class CutLog:
    """Offsets before which files ended by the clock, written before the files are uploaded.

    A task that reads records again after a failure ends files at the same offsets, so that it overwrites the objects of
    the first attempt and repeats no record.

    Invariant: the stored file has all of `_offsets`, in ascending order; the last 1000 are kept.

    Args:
        store: Where the log is.
        name: Of the file, which belongs to one partition.

    Raises:
        RetriableException: The store cannot be read now.

    Example:
        >>> class Memory(dict):
        ...     read = dict.get
        ...     def write(self, data, name): self[name] = data
        >>> store = Memory()
        >>> CutLog(store, "a").add(7)
        >>> CutLog(store, "a").between(0, 9)
        7
    """

    def __init__(self, store: SmallFiles, name: str) -> None:
        self._store, self._name = store, name
        data = store.read(name)
        try:
            self._offsets: list[int] = [] if data is None else sorted(map(int, json.loads(data)["cuts"]))
        except (ValueError, KeyError, TypeError) as error:
            raise ConnectException(f"{name} is damaged, remove it: {error}") from error

    def add(self, offset: int) -> None:
        """Store that files end before this offset. Raises RetriableException; nothing is changed then."""
        if offset in self._offsets:
            return
        offsets = [*self._offsets]
        insort(offsets, offset)
        offsets = offsets[-_MOST:]
        self._store.write(json.dumps({"cuts": offsets}).encode(), self._name)
        self._offsets = offsets

    def between(self, first: int, offset: int) -> int | None:
        """Return the first cut that is after `first`, and not after `offset`; None if there is none."""
        index = bisect_right(self._offsets, first)
        found = self._offsets[index] if index < len(self._offsets) else None
        return found if found is not None and found <= offset else None
