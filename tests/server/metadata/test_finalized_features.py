"""The epoch of /feature follows the znode."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.server.metadata.finalized_features import UNKNOWN_EPOCH, FinalizedFeatureListener
from kafkapy.zk.errors import ZooKeeperError


class FakeZooKeeper:
    """One znode, its version, and the handlers that want to know of it."""

    def __init__(self) -> None:
        self.version: int | None = None
        self.data = b'{"version":2,"status":1,"features":{}}'
        self.broken = False
        self.watched = False
        self.znode_handler: Any = None
        self.session_handler: Any = None

    def register_znode_change_handler(self, handler: Any) -> None:
        self.znode_handler = handler

    def register_state_change_handler(self, handler: Any) -> None:
        self.session_handler = handler

    def get_data_and_version(self, path: str) -> tuple[bytes | None, int]:
        if self.broken:
            raise ZooKeeperError("no connection")
        return (None, -1) if self.version is None else (self.data, self.version)

    def path_exists(self, path: str) -> bool:
        self.watched = True
        return self.version is not None


def features(zookeeper: Any) -> FinalizedFeatureListener:
    def now(work: Callable[[], None]) -> None:
        work()

    made = FinalizedFeatureListener(zookeeper, now)
    made.startup()
    return made


def test_follows_creation_change_and_deletion() -> None:
    zookeeper = FakeZooKeeper()
    followed = features(zookeeper)
    assert followed.epoch == UNKNOWN_EPOCH
    assert zookeeper.watched, "else nobody would tell of its creation"
    for version, event in ((0, "handle_creation"), (1, "handle_data_change"), (None, "handle_deletion")):
        zookeeper.version = version
        getattr(zookeeper.znode_handler, event)()
        assert followed.epoch == (UNKNOWN_EPOCH if version is None else version)


def test_features_that_are_disabled_have_no_epoch() -> None:
    zookeeper = FakeZooKeeper()
    zookeeper.version = 3
    zookeeper.data = b'{"version":1,"status":0,"features":{}}'
    assert features(zookeeper).epoch == UNKNOWN_EPOCH


def test_reads_again_in_a_new_session() -> None:
    zookeeper = FakeZooKeeper()
    zookeeper.version = 3
    followed = features(zookeeper)
    zookeeper.version = 8
    zookeeper.session_handler.after_initializing_session()
    assert followed.epoch == 8


def test_keeps_what_it_knows_if_zookeeper_can_not_be_asked() -> None:
    zookeeper = FakeZooKeeper()
    zookeeper.version = 3
    followed = features(zookeeper)
    zookeeper.broken = True
    zookeeper.znode_handler.handle_data_change()
    assert followed.epoch == 3
