"""The index from offsets to file positions (Kafka's `OffsetIndex`)."""

from __future__ import annotations

import struct

from kafkapy.log.index.abstract_index import AbstractIndex


class OffsetIndex(AbstractIndex):
    """Entries of 8 bytes: int32 offset minus base offset, int32 position of a batch in the .log file.

    Invariant: offsets and positions are strictly increasing. The index is sparse. An entry (o, p) means that every
    batch that starts before p ends at or before o, and that offset o is at or after p. (Kafka 3.9.1 writes the last
    offset of the batch at p; older brokers that of a later batch of the same append.) So a search for an offset >= o
    may start at p. For the state after a crash see `AbstractIndex`.
    """

    __slots__ = ("last_offset",)

    ENTRY = struct.Struct(">ii")

    def __init__(self, path: str, base_offset: int, max_index_size: int) -> None:
        super().__init__(path, base_offset, max_index_size)
        self.last_offset = base_offset

    def create(self, recovering: bool = False) -> None:
        super().create(recovering)
        self.last_offset = self.base_offset

    def open(self) -> None:
        super().open()
        self._load_last_offset()

    def append(self, offset: int, position: int) -> None:
        """Add an entry. Raises `ValueError` if the offset is not larger than the last one, or the index is full."""
        if self.entries >= self.max_entries:
            self.heat()
            if self.entries >= self.max_entries:
                raise ValueError(f"Attempt to append to a full index (size = {self.entries}).")
        if self.entries and offset <= self.last_offset:
            raise ValueError(
                f"Attempt to append an offset {offset} to position {self.entries} no larger than the last offset "
                f"appended ({self.last_offset}) to {self.path}"
            )
        self._append(offset - self.base_offset, position)
        self.last_offset = offset

    def lookup(self, offset: int) -> tuple[int, int]:
        """Return (offset, position) of the last entry with an offset <= the given one; (base offset, 0) if there is
        none.
        """
        found = self._lower_bound(offset - self.base_offset, 0)
        return (self.base_offset, 0) if found is None else (self.base_offset + found[0], found[1])

    def around(self, offset: int) -> tuple[int, int, int, int]:
        """Return the result of `lookup`, and offset and position of the next entry: both 0 if there is none, or it
        would need a read.
        """
        base = self.base_offset
        found, behind = self._neighbours(offset - base, 0)
        start_offset, start = (base, 0) if found is None else (base + found[0], found[1])
        return (start_offset, start, 0, 0) if behind is None else (start_offset, start, base + behind[0], behind[1])

    def position_before(self, offset: int) -> int:
        """Return the position of the entry before the result of `lookup`; 0 if there is none."""
        slot = self._lower_bound_slot(offset - self.base_offset, 0) - 1
        return max(self.entry(slot)[1], 0) if slot >= 0 else 0

    def first_behind(self, position: int) -> tuple[int, int] | None:
        """Return the first entry with a position > the given one, None if there is none."""
        slot = self._lower_bound_slot(position, 1) + 1
        return self.entry(slot) if slot < self.entries else None

    def entry(self, slot: int) -> tuple[int, int]:
        relative, position = self._raw_entry(slot)
        return self.base_offset + relative, position

    def truncate_to(self, offset: int) -> None:
        """Remove all entries at or after an offset."""
        self._truncate_to_entries(self._lower_bound_slot(offset - 1 - self.base_offset, 0) + 1)
        self._load_last_offset()

    def _load_last_offset(self) -> None:
        self.last_offset = self.entry(self.entries - 1)[0] if self.entries else self.base_offset
