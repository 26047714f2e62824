"""Which descriptors have something for the broker to do: those that are served soon, and those that wait for their turn."""

from __future__ import annotations

import select


class Pollers:
    """Two epolls; to Twisted it is one. The kernel lists what is ready in each in the order in which it became so, and what it
    has shown comes last the next time.

    Invariant: each descriptor is in one of both, in `later` if it is in `waiting`. `soon` shows `later`, too, by the
    descriptor `fileno`, while there is anything to be shown. `_masks` has the events of each.
    """

    def __init__(self, soon: select.epoll) -> None:
        """`soon` may have descriptors already that never wait."""
        self.soon = soon
        self.later = select.epoll()
        self.waiting: set[int] = set()
        self._masks: dict[int, int] = {}
        self.fileno = self.later.fileno()
        soon.register(self.fileno, select.EPOLLIN)

    def _poller(self, fd: int) -> select.epoll:
        return self.later if fd in self.waiting else self.soon

    def register(self, fd: int, mask: int) -> None:
        self._poller(fd).register(fd, mask)
        self._masks[fd] = mask

    def modify(self, fd: int, mask: int) -> None:
        self._poller(fd).modify(fd, mask)
        self._masks[fd] = mask

    def unregister(self, fd: int) -> None:
        self._masks.pop(fd, None)
        poller = self._poller(fd)
        self.waiting.discard(fd)
        poller.unregister(fd)

    def let_wait(self, fd: int) -> None:
        """From now on it is served later."""
        if fd in self._masks and fd not in self.waiting:
            self.soon.unregister(fd)
            self.waiting.add(fd)
            self.later.register(fd, self._masks[fd])

    def prefer(self, fd: int) -> None:
        """From now on it is served soon."""
        if fd in self.waiting:
            self.waiting.discard(fd)
            if fd in self._masks:
                self.later.unregister(fd)
                self.soon.register(fd, self._masks[fd])

    def close(self) -> None:
        self.soon.close()
        self.later.close()
