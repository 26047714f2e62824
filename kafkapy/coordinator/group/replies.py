"""Answers leave when the state they speak of is complete."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

from kafkapy.protocol.message import Message

log = logging.getLogger("kafkapy.coordinator.group.GroupCoordinator")

M = TypeVar("M", bound=Message)


class Replies:
    """A queue of answers, around every entry into the coordinator: `with replies: ...`.

    Sending an answer may make the network handle that client's next request, and so enter the coordinator again.
    Invariant: answers are sent by the outermost `with` only, after its body has run, in the order they were put in.
    """

    def __init__(self) -> None:
        self._queue: deque[tuple[Callable[[Any], None], Message]] = deque()
        self._depth = 0
        self._sending = False

    def put(self, reply: Callable[[M], None], response: M) -> None:
        self._queue.append((reply, response))

    def __enter__(self) -> None:
        self._depth += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._depth -= 1
        if self._depth or self._sending:
            return
        self._sending = True
        try:
            while self._queue:
                reply, response = self._queue.popleft()
                try:
                    reply(response)
                except Exception:
                    log.exception("Failed to send %s", response)
        finally:
            self._sending = False
