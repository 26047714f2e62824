"""What a logged statement does."""

from __future__ import annotations

import re
from typing import Final

from kafkapy.connect.connectors.debezium.settings import TableId

_COMMENTS: Final = r"(?:\s+|/\*(?![!M]).*?\*/|--[^\n]*\n|#[^\n]*\n)*"
_NAME: Final = r"(?:`((?:[^`]|``)+)`|([\w$]+))"
_TRUNCATE: Final = re.compile(
    rf"{_COMMENTS}TRUNCATE{_COMMENTS}(?:TABLE\b)?{_COMMENTS}{_NAME}(?:\s*\.\s*{_NAME})?", re.IGNORECASE | re.DOTALL
)
_WORD: Final = re.compile(rf"{_COMMENTS}(\w+)", re.DOTALL)
_OF_TABLES: Final = frozenset({"CREATE", "ALTER", "DROP", "RENAME", "TRUNCATE"})
_OF_ROWS: Final = frozenset({"INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "MERGE", "WITH"})
_NOT_TABLES: Final = re.compile(r"\b(?:USER|ROLE|SERVER|TABLESPACE|LOGFILE|TEMPORARY)\b", re.IGNORECASE)


def first_word(statement: str) -> str:
    """Return the first word of a statement, in upper case.

    Example:
        >>> first_word("/* a */ alter TABLE t")
        'ALTER'
    """
    found = _WORD.match(statement)
    return found[1].upper() if found else ""


def truncated_table(database: str, statement: str) -> TableId | None:
    """Return the table that a statement empties.

    Args:
        database: Of the session.
        statement: Any one.

    Example:
        >>> str(truncated_table("shop", "TRUNCATE TABLE `a`"))
        'shop.a'
    """
    found = _TRUNCATE.match(statement)
    if found is None:
        return None
    first, second = (found[1] or found[2]).replace("``", "`"), (found[3] or found[4] or "").replace("``", "`")
    return TableId(first, second) if second else TableId(database, first)


def changes_tables(statement: str) -> bool:
    """Return whether a statement changes the structure of tables or databases, or empties a table."""
    word = first_word(statement)
    return word in _OF_TABLES and not _NOT_TABLES.search(statement[:60])


def changes_rows(statement: str) -> bool:
    """Return whether a statement changes rows: it should have been logged with its rows."""
    return first_word(statement) in _OF_ROWS
