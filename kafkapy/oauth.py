"""The base class of token providers for OAUTHBEARER, at kafka-python 2's path. Any other object with a method `token()`
works, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod


class AbstractTokenProvider(ABC):
    @abstractmethod
    def token(self) -> str:
        """Return the token for one connection."""

    def extensions(self) -> dict[str, str]:
        """Return additional values to send with it."""
        return {}
