"""A store of delegation tokens without ZooKeeper, with notifications that tests deliver."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from kafkapy.security.delegation_tokens import TokenInformation
from kafkapy.zk.token_store import MAX_TOKEN_BYTES


class FakeTokenStore:
    """Shared by the managers of several brokers."""

    def __init__(self) -> None:
        self.nodes: dict[str, TokenInformation] = {}
        self.notifications: list[str] = []
        self.subscribers: list[Callable[[str], object]] = []
        self.reloads: list[Callable[[], object]] = []
        self.failure: Exception | None = None

    def time_limit(self, timeout_ms: int) -> AbstractContextManager[None]:
        return nullcontext()

    def create_token_paths(self) -> None:
        """Nothing to create."""

    def listener(self, changed: Callable[[str], object], reload: Callable[[], object]) -> Any:
        self.subscribers.append(changed)
        self.reloads.append(reload)
        return self

    def startup(self) -> None:
        """Listens already."""

    def shutdown(self) -> None:
        """Tests deliver no more."""

    def load_all(self) -> list[TokenInformation]:
        return list(self.nodes.values())

    def get(self, token_id: str) -> TokenInformation | None:
        return self.nodes.get(token_id)

    def create(self, token: TokenInformation) -> None:
        self._may_fail()
        if len(token.renewers) > MAX_TOKEN_BYTES // 100:
            raise ValueError("larger than a node of ZooKeeper")
        self.nodes[token.token_id] = token

    def update(self, token: TokenInformation) -> bool:
        self._may_fail()
        if token.token_id not in self.nodes:
            return False
        self.nodes[token.token_id] = token
        return True

    def remove(self, token_id: str) -> None:
        self._may_fail()
        self.nodes.pop(token_id, None)

    def notify(self, token_id: str) -> None:
        self.notifications.append(token_id)

    def deliver(self) -> None:
        """Every broker hears of every change."""
        told, self.notifications = self.notifications, []
        for token_id in told:
            for subscriber in self.subscribers:
                subscriber(token_id)

    def _may_fail(self) -> None:
        if self.failure is not None:
            raise self.failure
