"""Operations that wait for a condition or a deadline (Kafka's `DelayedOperation` and `DelayedOperationPurgatory`).

Everything happens on the reactor thread, so an operation completes exactly once without locks:
case A: its condition holds at once and it never waits; case B.1: an event on one of its keys makes `try_complete`
true; case B.2: its deadline passes and it is completed with the results so far.
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
    """`try_complete` checks the condition and calls `force_complete` if it holds; `force_complete` completes at most
    once; `on_complete` does the work; `on_expiration` is called before it after the deadline."""

    __slots__ = ("bucket", "completed", "delay_ms")

    def __init__(self, delay_ms: int) -> None:
        self.delay_ms = delay_ms
        self.completed = False
        self.bucket: dict[Expirable, None] | None = None
        """The timer's bucket, while the operation waits for its deadline."""

    def try_complete(self) -> bool:
        raise NotImplementedError

    def try_complete_after(self, key: Hashable) -> bool:
        """As `try_complete`, after an event on `key`."""
        return self.try_complete()

    def on_complete(self) -> None:
        raise NotImplementedError

    def on_expiration(self) -> None:
        """Called at the deadline, before `on_complete`; does nothing by default."""

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

    Invariant: a pending operation is in the list of each of its keys, or about to be checked after an event on that
    key. Completed ones are removed at the next event on their key, or when half of all entries are completed, so
    memory is proportional to the number of pending operations.
    """

    def __init__(self, name: str, timer: Deadlines, purge_interval: int = 1000) -> None:
        self.name = name
        self._timer = timer
        self._watchers: dict[Hashable, list[DelayedOperation]] = {}
        self._purge_interval = purge_interval
        self._added = 0

    def try_complete_else_watch(self, operation: DelayedOperation, keys: Iterable[Hashable]) -> bool:
        """Return True if the operation completed at once (case A); otherwise add it to the lists of its keys."""
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
        """Start the deadline of an operation that waits for its keys already."""
        if self._added >= self._purge_interval:
            self._purge()
        if not operation.completed:
            self._timer.add(operation, operation.delay_ms)

    def watch_also(self, operation: DelayedOperation, key: Hashable) -> None:
        """Add a key to a waiting operation."""
        self._watchers.setdefault(key, []).append(operation)
        self._added += 1

    def check_and_complete(self, key: Hashable) -> int:
        """Complete operations after an event on `key` (case B.1). Return how many completed so far: of very many, the
        rest completes later."""
        if not self._watchers:
            return 0
        waiting = self._watchers.pop(key, None)
        return 0 if waiting is None else self._look_at(key, waiting)

    def _look_at(self, key: Hashable, waiting: list[DelayedOperation]) -> int:
        """Checks the time slice itself: the event's source is on the same stack and goes on when this returns."""
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
                # The event's source and other waiting operations must go on.
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
        """Return the number of entries in all lists, completed ones included."""
        return sum(map(len, self._watchers.values()))

    def delayed(self) -> int:
        """Return the number of waiting operations."""
        return len({id(o) for waiting in self._watchers.values() for o in waiting if not o.completed})

    def _purge(self) -> None:
        self._added = 0
        for key in list(self._watchers):
            still = [operation for operation in self._watchers[key] if not operation.completed]
            if still:
                self._watchers[key] = still
            else:
                del self._watchers[key]
