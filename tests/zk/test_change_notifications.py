from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kafkapy.common.time import MockTime
from kafkapy.zk.change_notifications import CHANGE_EXPIRATION_MS, ZkNodeChangeNotificationListener
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChildChangeHandler
from tests.waiting import HANG_SECONDS

PATH, PREFIX = "/changes", "change_"


class FakeZooKeeper:
    """The children of one node; a change of them calls the handler, as a watch does."""

    def __init__(self, time: MockTime) -> None:
        self.time = time
        self.nodes: dict[str, tuple[bytes | None, int]] = {}
        self.child_handlers: dict[str, ZNodeChildChangeHandler] = {}
        self.state_handlers: dict[str, StateChangeHandler] = {}
        self.sequence = 0
        self.fails = False

    def register_znode_child_change_handler(self, handler: ZNodeChildChangeHandler) -> None:
        self.child_handlers[handler.path] = handler

    def unregister_znode_child_change_handler(self, path: str) -> None:
        del self.child_handlers[path]

    def register_state_change_handler(self, handler: StateChangeHandler) -> None:
        self.state_handlers[handler.name] = handler

    def unregister_state_change_handler(self, name: str) -> None:
        del self.state_handlers[name]

    def get_children(self, path: str) -> list[str]:
        if self.fails:
            raise RuntimeError("no answer")
        return [node.rpartition("/")[2] for node in self.nodes]

    def get_data_and_ctime(self, path: str) -> tuple[bytes | None, int] | None:
        return self.nodes.get(path)

    def get_many(self, paths: Sequence[str]) -> list[tuple[bytes | None, int] | None]:
        return [self.nodes.get(path) for path in paths]

    def delete_path(self, path: str) -> bool:
        return self.nodes.pop(path, None) is not None

    def add(self, data: bytes | None) -> None:
        self.nodes[f"{PATH}/{PREFIX}{self.sequence:010}"] = (data, self.time.milliseconds())
        self.sequence += 1


class Heard:
    def __init__(self, process_several: Callable[[Sequence[bytes]], object] | None = None) -> None:
        self.time = MockTime(0)
        self.zookeeper = FakeZooKeeper(self.time)
        self.changes: list[bytes] = []
        self.reloads = 0
        self.happened = threading.Semaphore(0)
        client: Any = self.zookeeper
        self.listener = ZkNodeChangeNotificationListener(
            client, PATH, PREFIX, self.process, self.time, reload=self.reload, process_several=process_several
        )

    def process(self, data: bytes) -> None:
        if data == b"bad":
            raise ValueError("bad")
        self.changes.append(data)
        self.happened.release()

    def reload(self) -> None:
        self.reloads += 1
        self.happened.release()
        if self.reloads == 1:
            raise RuntimeError("ZooKeeper has gone again")


def test_each_notification_is_handled_once_and_in_order() -> None:
    heard = Heard()
    for data in (b"a", b"b"):
        heard.zookeeper.add(data)
    heard.listener.process_notifications()
    heard.listener.process_notifications()
    heard.zookeeper.add(b"a")
    heard.listener.process_notifications()
    assert heard.changes == [b"a", b"b", b"a"]


def test_several_are_handled_together() -> None:
    together: list[Sequence[bytes]] = []
    heard = Heard(together.append)
    for number in range(60):
        heard.zookeeper.add(b"%d" % number)
    heard.zookeeper.add(None)
    heard.listener.process_notifications()
    heard.zookeeper.add(b"alone")
    heard.listener.process_notifications()
    assert [len(several) for several in together] == [50, 10]
    assert heard.changes == [b"alone"]


def test_where_several_fail_each_is_handled_by_itself() -> None:
    def fail(several: Sequence[bytes]) -> None:
        raise ValueError("bad")

    heard = Heard(fail)
    for data in (b"a", b"bad", b"b"):
        heard.zookeeper.add(data)
    heard.listener.process_notifications()
    assert heard.changes == [b"a", b"b"]


def test_one_that_fails_does_not_hold_up_the_next(caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()
    heard.zookeeper.nodes[f"{PATH}/other"] = (b"other", 0)
    heard.zookeeper.nodes[f"{PATH}/{PREFIX}x"] = (b"other", 0)
    for data in (b"bad", None, b"good"):
        heard.zookeeper.add(data)
    heard.listener.process_notifications()
    assert heard.changes == [b"good"]
    assert "error processing change notification b'bad'" in caplog.text
    assert "read null data" in caplog.text


def test_a_failed_reading_is_repeated_with_the_next_change(caplog: pytest.LogCaptureFixture) -> None:
    heard = Heard()
    heard.zookeeper.add(b"a")
    heard.zookeeper.fails = True
    heard.listener.process_notifications()
    assert "Error while processing notification change" in caplog.text
    heard.zookeeper.fails = False
    heard.listener.process_notifications()
    assert heard.changes == [b"a"]


def test_old_notifications_are_deleted() -> None:
    heard = Heard()
    heard.zookeeper.add(b"old")
    heard.time.advance(CHANGE_EXPIRATION_MS)
    heard.zookeeper.add(b"young")
    heard.listener.process_notifications()
    assert len(heard.zookeeper.nodes) == 2, "not older than that"
    heard.time.advance(1)
    heard.listener.process_notifications()
    assert [data for data, _ in heard.zookeeper.nodes.values()] == [b"young"]


def test_it_hears_from_its_start_to_its_end() -> None:
    heard = Heard()
    zookeeper = heard.zookeeper
    zookeeper.add(b"before")
    heard.listener.startup()
    zookeeper.add(b"after")
    zookeeper.child_handlers[PATH].handle_child_change()
    assert heard.happened.acquire(timeout=HANG_SECONDS)
    for _ in range(2):
        next(iter(zookeeper.state_handlers.values())).after_initializing_session()
        assert heard.happened.acquire(timeout=HANG_SECONDS)
    heard.listener.shutdown()
    assert heard.changes == [b"after"]
    assert heard.reloads == 2
    assert not zookeeper.child_handlers and not zookeeper.state_handlers
