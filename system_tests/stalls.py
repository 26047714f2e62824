"""Turns of the brokers' reactors that kept everybody waiting: a test in which there was one fails."""

from __future__ import annotations

import re
from typing import Final

from system_tests.services import KafkaService

LIMIT_MS: Final = 100
"""Of the reactor's own CPU time: what it waited for a core, or stood still, is not the broker's doing."""

ALLOWED: Final[dict[str, str]] = {}
"""Part of the line about a stall -> why it may be."""

_LINE = re.compile(r".*A turn of the reactor took \d+ ms \((\d+) ms CPU.*")


class Stalls:
    """Reads what brokers have written. Invariant: `_read` says how much of each one's output was looked at."""

    def __init__(self) -> None:
        self._read: dict[KafkaService, int] = {}

    def new(self, brokers: list[KafkaService]) -> list[str]:
        """Lines that were written since these were looked at last."""
        found = []
        for broker in brokers:
            with open(broker.output, "rb") as output:
                output.seek(self._read.get(broker, 0))
                text = output.read()
            self._read[broker] = self._read.get(broker, 0) + len(text)
            found += [f"broker {broker.broker_id}: {line}" for line in stalls(text.decode(errors="replace"))]
        return found


def stalls(text: str) -> list[str]:
    """The lines of a broker's log about turns that took too much of its time, and are not allowed to."""
    return [
        line[0]
        for line in _LINE.finditer(text)
        if int(line[1]) >= LIMIT_MS and not any(part in line[0] for part in ALLOWED)
    ]
