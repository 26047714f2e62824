"""The protocol of the control connection, lines of JSON: orders to a server, and its answers and news.

    {"order": name, "number": n, ...arguments}    to the server
    {"number": n, "result": value}                done
    {"number": n, "error": sentence}              not done
    {"news": name, ...}                           unasked: `ready`, `failed`, `session`

The socket pair is private to the two processes of one test run, so there is no authentication.
"""

from __future__ import annotations

import json
import os
from collections.abc import MutableMapping
from dataclasses import asdict, dataclass
from typing import Any, Self

ENVIRONMENT = "KAFKAPY_CONTROL"
"""Environment variable with a `ControlEnd`."""

MAX_LINE = 1 << 20
"""Maximum bytes of a line; a longer one is an error and is not buffered."""


@dataclass(frozen=True)
class ControlEnd:
    """The parameters of a server's control connection."""

    descriptor: int
    parent: int
    """The process with which the server ends."""
    remove: str | None = None
    """A directory to delete if the parent ends without stopping the server."""

    @classmethod
    def take_from(cls, environment: MutableMapping[str, str]) -> Self | None:
        """Remove the variable, so that the server's children don't inherit it, and parse it. None: there is no control
        connection."""
        text = environment.pop(ENVIRONMENT, None)
        return None if text is None else cls(**json.loads(text))

    def to_environment(self) -> dict[str, str]:
        return {ENVIRONMENT: json.dumps(asdict(self))}


def to_line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode() + b"\n"


def end_descriptor(end: ControlEnd) -> int:
    """Return the socket's descriptor, made non-inheritable for the server's children."""
    os.set_inheritable(end.descriptor, False)
    return end.descriptor
