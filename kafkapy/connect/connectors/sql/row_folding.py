"""Changes of one batch, at most one row for each key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from kafkapy.connect.connectors.sql.record_layout import RowChange


class FoldedChanges(NamedTuple):
    """What is done to a table, in this order.

    Attributes:
        deleted: Keys whose rows are deleted.
        rows: Rows that are written afterwards.
    """

    deleted: list[tuple[Any, ...]]
    rows: list[Mapping[str, Any]]


def fold(changes: Iterable[RowChange], *, only_existing: bool) -> FoldedChanges:
    """Return what the changes of keyed rows come to.

    Args:
        changes: In order.
        only_existing: Whether rows are updated only: a row that was deleted stays away.

    Example:
        >>> fold([], only_existing=False)
        FoldedChanges(deleted=[], rows=[])
    """
    deleted: dict[tuple[Any, ...], None] = {}
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    for change in changes:
        if change.row is None:
            deleted[change.key] = None
            rows.pop(change.key, None)
        elif not (only_existing and change.key in deleted):
            earlier = rows.pop(change.key, {})
            rows[change.key] = {**earlier, **change.row}
    return FoldedChanges(list(deleted), list(rows.values()))


def runs(changes: Iterable[RowChange]) -> list[list[RowChange]]:
    """Cut changes where deletions begin and end: rows that are only inserted are never folded.

    Args:
        changes: In order.
    """
    found: list[list[RowChange]] = []
    for change in changes:
        if found and (found[-1][-1].row is None) == (change.row is None):
            found[-1].append(change)
        else:
            found.append([change])
    return found
