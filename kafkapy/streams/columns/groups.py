"""Groups the rows of a batch by key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from kafkapy.streams.columns.batch import Numbers
from kafkapy.streams.columns.errors import NotInColumns


class RowGroups:
    """The groups of rows that have the same key.

    Invariant: `codes` has the number of the group of each row; `keys`, `first` and `last` have one entry a group.

    Args:
        key: The keys, none of them null.

    Attributes:
        keys: Keys of the groups, as Python values.
        codes: The group of each row.
        first: The first row of each group.
        last: The last row of each group.
        order: The groups in the order of their last rows, in which a record cache would flush them.

    Raises:
        NotInColumns: Equality of keys of this type differs from equality of their bytes.
    """

    def __init__(self, key: pa.Array) -> None:
        data_type = key.type
        if pa.types.is_nested(data_type) or pa.types.is_floating(data_type) or pa.types.is_null(data_type):
            raise NotInColumns(f"keys of type {data_type}")
        encoded = key if pa.types.is_dictionary(data_type) else key.dictionary_encode()
        self.keys: list[Any] = encoded.dictionary.to_pylist()
        self.codes: Numbers = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
        if pa.types.is_dictionary(data_type):
            self._compact()
        self._set_ends()

    def split(self, keys: list[Any], codes: Numbers) -> RowGroups:
        """Return other groups of the same rows.

        Args:
            keys: Keys of the groups.
            codes: The group of each row.
        """
        groups = RowGroups.__new__(RowGroups)
        groups.keys, groups.codes = keys, codes
        groups._set_ends()
        return groups

    def _set_ends(self) -> None:
        rows = np.arange(len(self.codes))
        self.first: Numbers = np.empty(len(self.keys), np.int64)
        self.first[self.codes[::-1]] = rows[::-1]
        self.last: Numbers = np.empty(len(self.keys), np.int64)
        self.last[self.codes] = rows
        self.order: Numbers = np.argsort(self.last)

    def _compact(self) -> None:
        """Remove unused and duplicate values of the keys' dictionary, which the application's function may have
        created."""
        numbers: dict[Any, int] = {}
        codes = [numbers.setdefault(self.keys[code], len(numbers)) for code in self.codes.tolist()]
        self.keys = list(numbers)
        self.codes = np.array(codes, np.int64)

    def latest(self, timestamps: Numbers) -> Numbers:
        """Return the highest timestamp of each group."""
        latest = np.full(len(self.keys), -1, np.int64)
        np.maximum.at(latest, self.codes, timestamps)
        return latest
