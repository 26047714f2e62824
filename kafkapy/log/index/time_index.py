"""The index from timestamps to offsets (Kafka's `TimeIndex`)."""

from __future__ import annotations

import struct

from kafkapy.common.timestamps import NO_TIMESTAMP
from kafkapy.log.index.abstract_index import AbstractIndex


class TimeIndex(AbstractIndex):
    """Entries of 12 bytes: int64 timestamp, int32 offset minus base offset.

    Invariant: timestamps are strictly increasing, offsets never decrease. An entry (t, o) means that no record at or
    before offset o has a timestamp above t, where o is the last offset of the batch whose max timestamp is t. The last
    slot is reserved for the entry that is added on roll or close, so the index counts as full one entry early. For the
    state after a crash see `AbstractIndex`.
    """

    __slots__ = ("_last",)

    ENTRY = struct.Struct(">qi")

    def __init__(self, path: str, base_offset: int, max_index_size: int) -> None:
        super().__init__(path, base_offset, max_index_size)
        self._last: tuple[int, int] | None = (NO_TIMESTAMP, base_offset)

    def create(self, recovering: bool = False) -> None:
        super().create(recovering)
        self._last = (NO_TIMESTAMP, self.base_offset)

    def open(self) -> None:
        super().open()
        self._last = None

    @property
    def is_full(self) -> bool:
        return self.entries >= self.max_entries - 1

    @property
    def last_entry(self) -> tuple[int, int]:
        """Return (timestamp, offset) of the last entry; (-1, base offset) if there is none."""
        last = self._last
        if last is None:
            last = self._last = self.entry(self.entries - 1) if self.entries else (NO_TIMESTAMP, self.base_offset)
        return last

    def maybe_append(self, timestamp: int, offset: int, skip_full_check: bool = False) -> None:
        """Add an entry if its timestamp is larger than the last one's. Raises `ValueError` if timestamp or offset
        decrease.
        """
        last_timestamp, last_offset = self.last_entry
        if self.entries and offset < last_offset:
            raise ValueError(
                f"Attempt to append an offset ({offset}) to slot {self.entries} no larger than the last offset "
                f"appended ({last_offset}) to {self.path}"
            )
        if self.entries and timestamp < last_timestamp:
            raise ValueError(
                f"Attempt to append a timestamp ({timestamp}) to slot {self.entries} no larger than the last timestamp "
                f"appended ({last_timestamp}) to {self.path}"
            )
        if timestamp > last_timestamp:
            self.heat()
            if not skip_full_check and self.is_full:
                raise ValueError(f"Attempt to append to a full time index (size = {self.entries}).")
            self._append(timestamp, offset - self.base_offset)
            self._last = (timestamp, offset)

    def lookup(self, timestamp: int) -> tuple[int, int]:
        """Return (timestamp, offset) of the last entry with a timestamp <= the given one; (-1, base offset) if there is
        none.
        """
        found = self._lower_bound(timestamp, 0)
        return (NO_TIMESTAMP, self.base_offset) if found is None else (found[0], self.base_offset + found[1])

    def entry(self, slot: int) -> tuple[int, int]:
        timestamp, relative = self._raw_entry(slot)
        return timestamp, self.base_offset + relative

    def truncate_to(self, offset: int) -> None:
        """Remove all entries at or after an offset."""
        self._truncate_to_entries(self._lower_bound_slot(offset - 1 - self.base_offset, 1) + 1)
        self._last = None
