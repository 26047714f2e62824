"""aiokafka's way to say up to where records go."""

from __future__ import annotations

from typing import Self


class RecordsToDelete(int):
    """For `delete_records`, which takes a plain offset as well: those before it go; -1: all there are."""

    def __new__(cls, before_offset: int) -> Self:
        return super().__new__(cls, before_offset)

    @property
    def before_offset(self) -> int:
        return int(self)
