"""Lines of JSON through a pair of sockets: orders to a server, and its answers and news.

    {"order": name, "number": n, ...arguments}    to the server
    {"number": n, "result": value}                done
    {"number": n, "error": sentence}              not done
    {"news": name, ...}                           unasked: `ready`, `failed`, `session`

Neither end trusts the machine less than it trusts itself: both are processes of one test run.
"""

from __future__ import annotations

import json
import os
from collections.abc import MutableMapping
from dataclasses import asdict, dataclass
from typing import Any, Self

ENVIRONMENT = "KAFKAPY_CONTROL"
"""Names the server's end; its value is a `ControlEnd`."""

MAX_LINE = 1 << 20
"""Bytes of a line; more is an error, before anything is kept."""


@dataclass(frozen=True)
class ControlEnd:
    """The parameters of a server's control connection."""

    descriptor: int
    parent: int
    """The process with which the server ends."""
    remove: str | None = None
    """A directory that goes when the parent has ended without a word."""

    @classmethod
    def take_from(cls, environment: MutableMapping[str, str]) -> Self | None:
        """Taken out, so that no child of the server thinks it is meant. None: nobody orders this server about."""
        text = environment.pop(ENVIRONMENT, None)
        return None if text is None else cls(**json.loads(text))

    def to_environment(self) -> dict[str, str]:
        return {ENVIRONMENT: json.dumps(asdict(self))}


def to_line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def end_descriptor(end: ControlEnd) -> int:
    """The server's own children shall not hold it open."""
    os.set_inheritable(end.descriptor, False)
    return end.descriptor
