"""Names of tables."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class TableName(NamedTuple):
    """A table's name.

    Attributes:
        catalog: The database; None: that of the connection. Only part of names that are shown.
        schema: None: the default one.
        table: The name itself.

    Example:
        >>> TableName("shop", "public", "orders").text
        'shop.public.orders'
    """

    catalog: str | None
    schema: str | None
    table: str

    @property
    def text(self) -> str:
        """All parts, with dots, as in the source partitions of Confluent's connector."""
        return ".".join(part for part in self if part)

    @property
    def spellings(self) -> list[str]:
        """The full name, and those with fewer parts."""
        parts = [part for part in self if part]
        return [".".join(parts[index:]) for index in range(len(parts))]

    def matches(self, wanted: str) -> bool:
        """Return whether a name in a config, which may have fewer parts and quotes, is this table's."""
        plain = re.sub(r'["`\[\]]', "", wanted.strip())
        return plain.lower() in (spelling.lower() for spelling in self.spellings)


def quoted(name: str | None, always: bool) -> Any:
    """Return a name for SQLAlchemy.

    Args:
        name: None stays None.
        always: `quote.sql.identifiers`: always or never.
    """
    from sqlalchemy.sql.elements import quoted_name

    return None if name is None else quoted_name(name, always)
