"""Pollers that report ready descriptors on the two levels of a `FeedbackQueue`."""

from __future__ import annotations

import select
import selectors
from abc import ABC, abstractmethod
from collections.abc import Callable

from kafkapy.common import capabilities

Ready = list[tuple[int, int]]
"""Descriptors and their events."""


class Pollers(ABC):
    """Two pollers that look like one to Twisted.

    Invariant: `poll_second` reports the descriptors in `second`, `poll` all others. While `poll_second` may have
    something to report, `poll` reports the descriptor `fileno`, which is no connection's.
    """

    name: str
    """The system call it uses, for the log."""

    readable: int
    writable: int
    end: int
    """Reported together with other events: the peer has closed its side. 0 if the system does not report it."""
    broken: int

    fileno: int
    poll: Callable[[float, int], Ready]
    """(seconds to wait, maximum number of descriptors); negative seconds wait without limit."""
    poll_second: Callable[[float, int], Ready]

    def __init__(self) -> None:
        self.second: set[int] = set()
        self._masks: dict[int, int] = {}

    @abstractmethod
    def register(self, fd: int, mask: int) -> None: ...

    @abstractmethod
    def modify(self, fd: int, mask: int) -> None: ...

    @abstractmethod
    def unregister(self, fd: int) -> None: ...

    @abstractmethod
    def demote(self, fd: int) -> None:
        """Move it to the second level."""

    @abstractmethod
    def promote(self, fd: int) -> None:
        """Move it to the first level."""

    @abstractmethod
    def close(self) -> None: ...


class TwoEpolls(Pollers):
    """Two epoll objects; the second is registered in the first.

    epoll reports descriptors in the order in which they became ready; one that was reported goes to the end of the
    list.

    Invariant: each descriptor is registered in exactly one, in `_second` if it is in `second`. `_first` reports
    `_second` while that has ready descriptors. `_masks` has the event mask of each descriptor.
    """

    name = "two epolls"

    def __init__(self) -> None:
        super().__init__()
        self.readable, self.writable, self.end = select.EPOLLIN, select.EPOLLOUT, select.EPOLLRDHUP
        self.broken = select.EPOLLHUP | select.EPOLLERR
        self._first = select.epoll()
        self._second = select.epoll()
        self.poll = self._first.poll
        self.poll_second = self._second.poll
        self.fileno = self._second.fileno()
        self._first.register(self.fileno, select.EPOLLIN)

    def _poller(self, fd: int) -> select.epoll:
        return self._second if fd in self.second else self._first

    def register(self, fd: int, mask: int) -> None:
        self._poller(fd).register(fd, mask)
        self._masks[fd] = mask

    def modify(self, fd: int, mask: int) -> None:
        self._poller(fd).modify(fd, mask)
        self._masks[fd] = mask

    def unregister(self, fd: int) -> None:
        self._masks.pop(fd, None)
        poller = self._poller(fd)
        self.second.discard(fd)
        poller.unregister(fd)

    def demote(self, fd: int) -> None:
        if fd in self._masks and fd not in self.second:
            self._first.unregister(fd)
            self.second.add(fd)
            self._second.register(fd, self._masks[fd])

    def promote(self, fd: int) -> None:
        if fd in self.second:
            self.second.discard(fd)
            if fd in self._masks:
                self._second.unregister(fd)
                self._first.register(fd, self._masks[fd])

    def close(self) -> None:
        self._first.close()
        self._second.close()


class OneSelector(Pollers):
    """One kqueue, poll or select object, where pollers cannot be nested.

    Each poll asks for everything that is ready, and notes descriptors of the second level in the order in which they
    became so.

    Invariant: `_ready` has the descriptors in `second` that were ready when last polled, with their events.
    """

    readable, writable, end, broken = selectors.EVENT_READ, selectors.EVENT_WRITE, 0, 0
    fileno = -1

    def __init__(self) -> None:
        super().__init__()
        self._selector = selectors.DefaultSelector()
        self.name = type(self._selector).__name__.removesuffix("Selector").lower()
        self._ready: dict[int, int] = {}
        self.poll = self._poll
        self.poll_second = self._poll_second

    def _poll(self, timeout: float, at_most: int) -> Ready:
        """Report all ready descriptors, even more than `at_most`: the system would report the same ones again."""
        ready = self._ready
        shown: Ready = []
        for key, event in self._selector.select(None if timeout < 0 else timeout):
            fd = key.fd
            if fd in self.second:
                ready[fd] = ready.get(fd, 0) | event
            else:
                shown.append((fd, event))
        if ready:
            shown.append((self.fileno, self.readable))
        return shown

    def _poll_second(self, timeout: float, at_most: int) -> Ready:
        """Report the noted descriptors, each once; `timeout` is ignored."""
        ready = self._ready
        shown: Ready = []
        while ready and len(shown) < at_most:
            fd = next(iter(ready))
            event = ready.pop(fd) & self._masks.get(fd, 0)
            if event:
                shown.append((fd, event))
        return shown

    def register(self, fd: int, mask: int) -> None:
        self._selector.register(fd, mask)
        self._masks[fd] = mask

    def modify(self, fd: int, mask: int) -> None:
        self._selector.modify(fd, mask)
        self._masks[fd] = mask

    def unregister(self, fd: int) -> None:
        self._masks.pop(fd, None)
        self._ready.pop(fd, None)
        self.second.discard(fd)
        self._selector.unregister(fd)

    def demote(self, fd: int) -> None:
        if fd in self._masks:
            self.second.add(fd)

    def promote(self, fd: int) -> None:
        self.second.discard(fd)
        self._ready.pop(fd, None)

    def close(self) -> None:
        self._selector.close()


def best_pollers() -> Pollers:
    return TwoEpolls() if capabilities.EPOLL else OneSelector()
