"""A store of ACLs without ZooKeeper: versions, and notifications that tests deliver."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from kafkapy.common.acl_types import AccessControlEntry, AclPattern
from kafkapy.zk.acl_store import NO_ACLS, ResourceZNode, VersionedAcls
from kafkapy.zk.kafka_zk_client import UNKNOWN_VERSION


class FakeAclStore:
    """Shared by the authorizers of several brokers."""

    def __init__(self) -> None:
        self.nodes: dict[AclPattern, VersionedAcls] = {}
        self.notifications: list[AclPattern] = []
        self.subscribers: list[Callable[[Sequence[AclPattern]], object]] = []
        self.reloads: list[Callable[[], object]] = []
        self.before_update: Callable[[AclPattern], object] = lambda pattern: None
        self.updates = 0
        self.requests_of_many = 0

    def time_limit(self, timeout_ms: int) -> AbstractContextManager[None]:
        return nullcontext()

    def close(self) -> None:
        """Nothing to close."""

    def create_acl_paths(self) -> None:
        """Nothing to create."""

    def listeners(self, changed: Callable[[Sequence[AclPattern]], object], reload: Callable[[], object]) -> list[Any]:
        self.subscribers.append(changed)
        self.reloads.append(reload)
        return []

    def load_all(self) -> Iterator[tuple[AclPattern, VersionedAcls]]:
        yield from self.nodes.items()

    def get(self, pattern: AclPattern) -> VersionedAcls:
        ResourceZNode.path(pattern)
        return self.nodes.get(pattern, NO_ACLS)

    def update(self, pattern: AclPattern, entries: Collection[AccessControlEntry], zk_version: int) -> int | None:
        ResourceZNode.path(pattern)
        self.updates += 1
        self.before_update(pattern)
        now = self.nodes.get(pattern, NO_ACLS)
        if now.zk_version != zk_version and (entries or now.exists):
            return None
        if not entries:
            self.nodes.pop(pattern, None)
            return UNKNOWN_VERSION
        new_version = now.zk_version + 1 if now.exists else 0
        self.nodes[pattern] = VersionedAcls(frozenset(entries), new_version)
        return new_version

    def get_many(self, patterns: Sequence[AclPattern]) -> list[VersionedAcls]:
        return [self.get(pattern) for pattern in patterns]

    def update_many(
        self, updates: Iterable[tuple[AclPattern, Collection[AccessControlEntry], int]]
    ) -> list[int | None]:
        self.requests_of_many += 1
        return [self.update(*update) for update in updates]

    def notify(self, pattern: AclPattern) -> None:
        self.notifications.append(pattern)

    def notify_many(self, patterns: Iterable[AclPattern]) -> None:
        for pattern in patterns:
            self.notify(pattern)

    def deliver(self) -> None:
        """Every broker hears of every change."""
        told, self.notifications = self.notifications, []
        for pattern in told:
            for subscriber in self.subscribers:
                subscriber([pattern])
