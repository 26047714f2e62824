"""Where kafka-python 2 has the base of what gives tokens for OAUTHBEARER. Here any object with a method `token()` does."""

from __future__ import annotations

from abc import ABC, abstractmethod


class AbstractTokenProvider(ABC):
    @abstractmethod
    def token(self) -> str:
        """The token, for one connection."""

    def extensions(self) -> dict[str, str]:
        """What else is sent with it."""
        return {}
