"""Which of Apache's test classes are run, and which of their tests can't pass."""

from __future__ import annotations

from typing import Final

TEST_CLASSES: Final = ("kafka.server.FetchRequestTest",)

KNOWN_FAILURES: Final[dict[str, str]] = {}
