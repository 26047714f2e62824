"""Operations that wait for a condition or a deadline (Kafka's `DelayedOperation` and `DelayedOperationPurgatory`).

Everything happens on the reactor thread, so an operation completes exactly once without locks:
case A: its condition holds at once and it never waits; case B.1: an event on one of its keys makes `try_complete` true;
case B.2: its deadline passes and it is completed with what there is.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable
from functools import partial

from mypy_extensions import mypyc_attr

from kafkapy.server.purgatory.deadlines import Deadlines, Expirable

log = logging.getLogger("kafkapy.server.DelayedOperationPurgatory")


@mypyc_attr(allow_interpreted_subclasses=True)
class DelayedOperation:
    """Four verbs: `try_complete` asks whether the condition holds and calls `force_complete` if so; `force_complete` completes
    once; `on_complete` does the work; `on_expiration` notes that time ran out (before `on_complete`)."""

    __slots__ = ("bucket", "completed", "delay_ms")

    def __init__(self, delay_ms: int) -> None:
        self.delay_ms = delay_ms
        self.completed = False
        self.bucket: dict[Expirable, None] | None = None
        """The timer's, while this waits for its deadline."""

    def try_complete(self) -> bool:
        raise NotImplementedError

    def try_complete_after(self, key: Hashable) -> bool:
        """As `try_complete`, knowing that the event was on `key`."""
        return self.try_complete()

    def on_complete(self) -> None:
        raise NotImplementedError

    def on_expiration(self) -> None:
        """Nothing to note by default."""

    def force_complete(self) -> bool:
        if self.completed:
            return False
        self.completed = True
        if self.bucket is not None:
            del self.bucket[self]
            self.bucket = None
        self.on_complete()
        return True

    def expire(self) -> None:
        if not self.completed:
            self.on_expiration()
            self.force_complete()


class DelayedOperationPurgatory:
    """The waiting operations by key.

    Invariant: an operation that is not completed stands in the list of each of its keys, or is about to be looked at, since an
    event happened on that key. Completed ones are dropped when their key is next touched, or when half of all entries are
    completed (so memory stays in proportion to what waits).
    """

    def __init__(self, name: str, timer: Deadlines, purge_interval: int = 1000) -> None:
        self.name = name
        self._timer = timer
        self._watchers: dict[Hashable, list[DelayedOperation]] = {}
        self._purge_interval = purge_interval
        self._added = 0

    def try_complete_else_watch(self, operation: DelayedOperation, keys: Iterable[Hashable]) -> bool:
        """True if the operation completed at once (case A)."""
        if operation.try_complete():
            return True
        watchers = self._watchers
        for key in keys:
            waiting = watchers.get(key)
            if waiting is None:
                watchers[key] = [operation]
            else:
                waiting.append(operation)
            self._added += 1
        self.begin_time(operation)
        return False

    def begin_time(self, operation: DelayedOperation) -> None:
        """It waits for its keys; from now on for its deadline, too."""
        if self._added >= self._purge_interval:
            self._purge()
        if not operation.completed:
            self._timer.add(operation, operation.delay_ms)

    def watch_also(self, operation: DelayedOperation, key: Hashable) -> None:
        """An operation that waits already waits for this key, too."""
        self._watchers.setdefault(key, []).append(operation)
        self._added += 1

    def check_and_complete(self, key: Hashable) -> int:
        """An event happened on `key`: complete what can be (case B.1). How many did so far: of very many, others come later."""
        if not self._watchers:
            return 0
        waiting = self._watchers.pop(key, None)
        return 0 if waiting is None else self._look_at(key, waiting)

    def _look_at(self, key: Hashable, waiting: list[DelayedOperation]) -> int:
        """It asks for itself when the turn is over: what has caused the event goes on when this returns, on the same stack."""
        done = 0
        still: list[DelayedOperation] = []
        for number, operation in enumerate(waiting):
            if number and self._timer.should_yield():
                self._timer.go_on_later(partial(self._look_at, key, waiting[number:]))
                break
            if operation.completed:
                continue
            try:
                completed = operation.try_complete_after(key)
            except Exception:
                # What caused the event and other operations that wait for it go on.
                log.exception("Error while completing %r", operation)
                completed = operation.completed
            if completed:
                done += 1
            else:
                still.append(operation)
        if still:
            self._watchers[key] = still + self._watchers.get(key, [])
        return done

    def watched(self) -> int:
        """Entries in all lists, completed ones included."""
        return sum(map(len, self._watchers.values()))

    def delayed(self) -> int:
        """Operations that wait."""
        return len({id(o) for waiting in self._watchers.values() for o in waiting if not o.completed})

    def _purge(self) -> None:
        self._added = 0
        for key in list(self._watchers):
            still = [operation for operation in self._watchers[key] if not operation.completed]
            if still:
                self._watchers[key] = still
            else:
                del self._watchers[key]
