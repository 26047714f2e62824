"""aiokafka's class for the argument of `delete_records`."""

from __future__ import annotations

from typing import Self


class RecordsToDelete(int):
    """The records before `before_offset` are deleted; -1: all records. `delete_records` accepts plain offsets as
    well."""

    def __new__(cls, before_offset: int) -> Self:
        return super().__new__(cls, before_offset)

    @property
    def before_offset(self) -> int:
        return int(self)
