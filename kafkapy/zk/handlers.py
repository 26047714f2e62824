"""Handlers for changes of znodes and of the session. They are called on kazoo's thread, so they only enqueue events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _nothing() -> None:
    pass


@dataclass(frozen=True, slots=True, eq=False)
class ZNodeChangeHandler:
    """For creation, deletion and data changes of one znode. Set by `exists` and `get_data` of that path."""

    path: str
    handle_creation: Callable[[], object] = _nothing
    handle_deletion: Callable[[], object] = _nothing
    handle_data_change: Callable[[], object] = _nothing


@dataclass(frozen=True, slots=True, eq=False)
class ZNodeChildChangeHandler:
    """For added and removed children of one znode. Set by `get_children` of that path."""

    path: str
    handle_child_change: Callable[[], object] = _nothing


@dataclass(frozen=True, slots=True, eq=False)
class StateChangeHandler:
    """For a new session after an expired one (Kafka's `StateChangeHandler`).

    `before_initializing_session` runs when the old session is known to be lost. Requests fail with
    `SessionExpiredError` until it returns, and it may wait for other threads (the controller resigns in it).
    `after_initializing_session` runs when there is a new session: requests work, no watch is set, this broker has no
    ephemeral nodes. Both run on a thread of the client, in order.
    """

    name: str
    before_initializing_session: Callable[[], object] = _nothing
    after_initializing_session: Callable[[], object] = _nothing
