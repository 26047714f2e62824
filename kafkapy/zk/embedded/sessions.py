"""Tracks sessions and their expiration: ZooKeeper's SessionTracker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

SERVER_ID = 1
"""A standalone ZooKeeper puts it into the first byte of its sessions' ids."""

_SECRET = 0xB3415C00
_MULTIPLIER, _INCREMENT, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1


def password(session_id: int) -> bytes:
    """Return the password that lets a client resume the session. It is ZooKeeper's: `java.util.Random`, seeded with the
    id, so that either server can take over sessions with the other's data. It guards against mistakes, not against
    attacks.
    """
    state = (session_id ^ _SECRET ^ _MULTIPLIER) & _MASK
    result = b""
    for _ in range(4):
        state = (state * _MULTIPLIER + _INCREMENT) & _MASK
        result += (state >> 16).to_bytes(4, "little")
    return result


@dataclass(slots=True)
class _Tracked:
    timeout_ms: int
    expires_ms: int


class SessionTracker:
    """Sessions expire in buckets: at the first multiple of the tick after their time-out.

    Invariant: a session is in the bucket of its `expires_ms`, and in no other. Times are those of a monotonic clock.
    """

    def __init__(self, tick_ms: int, now_ms: int, wall_ms: int) -> None:
        self._tick_ms = tick_ms
        self._sessions: dict[int, _Tracked] = {}
        self._buckets: dict[int, dict[int, None]] = {}
        self._next_bucket = self._round_up(now_ms)
        self._next_id = (SERVER_ID << 56) | ((wall_ms & (1 << 40) - 1) << 16)

    def __contains__(self, session_id: int) -> bool:
        return session_id in self._sessions

    def __iter__(self) -> Iterator[int]:
        return iter(list(self._sessions))

    def __len__(self) -> int:
        return len(self._sessions)

    def new_id(self) -> int:
        while self._next_id in self._sessions:
            self._next_id += 1
        self._next_id += 1
        return self._next_id - 1

    def track(self, session_id: int, timeout_ms: int, now_ms: int) -> None:
        """Add a new session, or one from the data directory."""
        self._sessions[session_id] = _Tracked(timeout_ms, -1)
        self.touch(session_id, timeout_ms, now_ms)

    def touch(self, session_id: int, timeout_ms: int, now_ms: int) -> bool:
        """Extend a session after a sign of life; return False if it has ended."""
        tracked = self._sessions.get(session_id)
        if tracked is None:
            return False
        tracked.timeout_ms = timeout_ms
        expires_ms = self._round_up(now_ms + timeout_ms)
        if expires_ms != tracked.expires_ms:
            self._leave_bucket(session_id, tracked)
            tracked.expires_ms = expires_ms
            self._buckets.setdefault(expires_ms, {})[session_id] = None
        return True

    def remove(self, session_id: int) -> None:
        tracked = self._sessions.pop(session_id, None)
        if tracked is not None:
            self._leave_bucket(session_id, tracked)

    def expired(self, now_ms: int) -> list[int]:
        """Return the expired sessions. If this was not called for long, the process was suspended and could not receive
        anything: then all sessions are extended by that time.
        """
        late_ms = now_ms - self._next_bucket
        if late_ms > 2 * self._tick_ms:
            for session_id, tracked in list(self._sessions.items()):
                self.touch(session_id, tracked.timeout_ms, now_ms)
        due = [
            each for expires_ms in sorted(self._buckets) if expires_ms <= now_ms for each in self._buckets[expires_ms]
        ]
        self._next_bucket = self._round_up(now_ms)
        return due

    def next_check_ms(self) -> int:
        """Return the time of the next call of `expired`."""
        return self._next_bucket

    def by_expiry(self) -> dict[int, list[int]]:
        return {expires_ms: list(self._buckets[expires_ms]) for expires_ms in sorted(self._buckets)}

    def _leave_bucket(self, session_id: int, tracked: _Tracked) -> None:
        bucket = self._buckets.get(tracked.expires_ms)
        if bucket is not None:
            bucket.pop(session_id, None)
            if not bucket:
                del self._buckets[tracked.expires_ms]

    def _round_up(self, time_ms: int) -> int:
        return (time_ms // self._tick_ms + 1) * self._tick_ms
