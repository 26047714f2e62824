"""Types of columns, as PostgreSQL's catalog has them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PgType:
    """A type of the catalog.

    Attributes:
        oid: Its number.
        name: For example `int4`.
        kind: `b` base, `e` enum, `d` domain, `r` range, `m` multirange, `c` composite, `p` pseudo.
        element: Of an array.
        base: Of a domain; `base_modifier` belongs to it.
        labels: Of an enum.
        delimiter: Between the elements of an array of this type.

    Example:
        >>> PgType(20, "int8").resolved(-1)
        (PgType(oid=20, name='int8', kind='b', element=None, base=None, base_modifier=-1, labels=(), delimiter=','), -1)
    """

    oid: int
    name: str
    kind: str = "b"
    element: PgType | None = None
    base: PgType | None = None
    base_modifier: int = -1
    labels: tuple[str, ...] = ()
    delimiter: str = ","

    def resolved(self, modifier: int) -> tuple[PgType, int]:
        """Return the type under domains, and its modifier; `modifier`: the column's."""
        found = self
        while found.base is not None:
            found, modifier = found.base, found.base_modifier
        return found, modifier


def numeric_precision(modifier: int) -> tuple[int, int] | None:
    """Return precision and scale of NUMERIC; None: it has none.

    Args:
        modifier: The column's `atttypmod`.

    Example:
        >>> numeric_precision(655366), numeric_precision(-1)
        ((10, 2), None)
    """
    if modifier < 4:
        return None
    scale = (modifier - 4) & 0x7FF
    return (modifier - 4) >> 16 & 0xFFFF, scale - 0x800 if scale & 0x400 else scale


def time_precision(modifier: int) -> int:
    """Return the digits of the fraction of seconds: 6 unless the column has fewer."""
    return 6 if modifier < 0 else modifier & 0xFFFF


def text_length(modifier: int) -> int | None:
    """Return the length of BIT(n) and VARBIT(n)."""
    return None if modifier < 0 else modifier
