"""Types of columns, as both the catalog and the binary log tell them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

INTEGERS: Final = {"tinyint": 1, "smallint": 2, "mediumint": 3, "int": 4, "bigint": 8}
"""Integer types with their bytes."""


@dataclass(frozen=True, slots=True)
class MyColumn:
    """A column of a table.

    Attributes:
        name: Its name.
        kind: `tinyint`, `smallint`, `mediumint`, `int`, `bigint`, `float`, `double`, `decimal`, `bit`, `year`, `date`,
            `time`, `datetime`, `timestamp`, `char`, `varchar`, `text`, `binary`, `varbinary`, `blob`, `enum`, `set`, `json`,
            `point` or `geometry`; another name is that of a type which cannot be captured.
        is_unsigned: Of numbers.
        length: Digits of decimals, digits of fractions of seconds, bits, or bytes of `binary`; otherwise 0.
        scale: Of decimals.
        labels: Of enums and sets.
        is_nullable: Whether it may be NULL.

    Example:
        >>> MyColumn("id", "int").is_nullable
        False
    """

    name: str
    kind: str
    is_unsigned: bool = False
    length: int = 0
    scale: int = 0
    labels: tuple[str, ...] = ()
    is_nullable: bool = False


@dataclass(frozen=True, slots=True)
class MyTable:
    """A table's structure at one place of the binary log.

    Attributes:
        database: Its database.
        name: Its name.
        columns: All of them, in order.
        key: Names of the primary key's columns; none without one.
    """

    database: str
    name: str
    columns: tuple[MyColumn, ...]
    key: tuple[str, ...] = ()
