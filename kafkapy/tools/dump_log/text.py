"""Shared by the parts of kafka-dump-log: offsets in file names, and numbers as Java prints them."""

from __future__ import annotations

import os

from kafkapy.tools.common.command_line import ToolError


def base_offset(path: str) -> int:
    """The offset in a segment file's name. Raises `ToolError`."""
    name = os.path.basename(path).partition(".")[0]
    if not name.isascii() or not name.isdigit():
        raise ToolError(f"{path} is no file of a log: its name does not begin with an offset")
    return int(name)


def optional_long(value: int | None) -> str:
    """A number as Java prints an OptionalLong; None and negative numbers are empty."""
    return "OptionalLong.empty" if value is None or value < 0 else f"OptionalLong[{value}]"
