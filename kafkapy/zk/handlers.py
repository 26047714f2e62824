"""What to call when a znode or the session changes. The calls come on kazoo's thread: they only enqueue events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True, eq=False)
class ZNodeChangeHandler:
    """For one znode's creation, deletion and change of data. Armed by `exists` and `get_data` of that path."""

    path: str
    handle_creation: Callable[[], object] = _nothing
    handle_deletion: Callable[[], object] = _nothing
    handle_data_change: Callable[[], object] = _nothing


@dataclass(frozen=True, slots=True, eq=False)
class ZNodeChildChangeHandler:
    """For one znode's children coming and going. Armed by `get_children` of that path."""

    path: str
    handle_child_change: Callable[[], object] = _nothing


@dataclass(frozen=True, slots=True, eq=False)
class StateChangeHandler:
    """For a new session after an expired one (Kafka's `StateChangeHandler`).

    `before_initializing_session` runs when the old session is known to be lost; requests fail with
    `SessionExpiredError` until it returns, and it may wait for others to notice (the controller resigns in it).
    `after_initializing_session` runs when the new session is there: requests work, no watch is armed, no ephemeral node
    of ours exists. Both run on a thread of the client's own, in order.
    """

    name: str
    before_initializing_session: Callable[[], object] = _nothing
    after_initializing_session: Callable[[], object] = _nothing
