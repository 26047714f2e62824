"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Bars and opening angle brackets in cells are escaped."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    lines += ["| " + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;") for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"
