"""Numbers and times of requests, by API (Kafka's `RequestMetrics`)."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.common.metrics import Histogram

_MS = 1000.0


class RequestStats:
    """Statistics of one API.

    Most requests are answered while their handler runs; of these one duration is recorded. Of others, four times are
    recorded, from which `fold` computes the phases. Invariant: both lists hold what came since the last `fold`. One
    thread only.
    """

    __slots__ = (
        "_delayed",
        "_immediate",
        "errors",
        "local",
        "record_delayed",
        "record_immediate",
        "remote",
        "send",
        "throttle",
        "total",
    )

    def __init__(self) -> None:
        self._immediate: list[float] = []
        self._delayed: list[tuple[float, float, float, float]] = []
        self.record_immediate: Callable[[float], None] = self._immediate.append
        """Record a request whose answer was sent before its handler returned: seconds."""
        self.record_delayed: Callable[[tuple[float, float, float, float]], None] = self._delayed.append
        """Record any other request: (received, handler returned, answered, answer sent), in seconds."""
        self.total = Histogram()
        """In ms, as are the following."""
        self.local = Histogram()
        self.remote = Histogram()
        """Waiting for followers, records, time, ZooKeeper, or another thread."""
        self.send = Histogram()
        self.throttle = Histogram()
        self.errors: dict[int, int] = {}
        """Error code -> number of answers with it."""

    def error(self, code: int, times: int = 1) -> None:
        self.errors[code] = self.errors.get(code, 0) + times

    @property
    def count(self) -> int:
        """The number of answered requests."""
        return self.total.count + len(self._immediate) + len(self._delayed)

    def fold(self) -> None:
        """Process what was recorded. To be called about once a second."""
        immediate = [seconds * _MS for seconds in self._immediate]
        if immediate:
            self._immediate.clear()
            self.total.add(immediate)
            self.local.add(immediate)
            self.remote.add_zeros(len(immediate))
            self.send.add_zeros(len(immediate))
        delayed = self._delayed[:]
        if delayed:
            self._delayed.clear()
            self.total.add([(sent - received) * _MS for received, _, _, sent in delayed])
            self.local.add([(min(handled, done) - received) * _MS for received, handled, done, _ in delayed])
            self.remote.add([max(0.0, done - handled) * _MS for _, handled, done, _ in delayed])
            self.send.add([(sent - done) * _MS for _, _, done, sent in delayed])
        self.throttle.fold()


class RequestStatsByApi:
    """Statistics as `clients[api key]` and `followers[api key]`.

    They differ only for Fetch, because Kafka distinguishes followers' fetches from consumers'.
    """

    def __init__(self, highest_api_key: int, fetch: int) -> None:
        self.clients = [RequestStats() for _ in range(highest_api_key + 1)]
        self.followers = list(self.clients)
        self.followers[fetch] = RequestStats()
        self._fetch = fetch

    @property
    def fetch_of_followers(self) -> RequestStats:
        return self.followers[self._fetch]

    def fold(self) -> None:
        for stats in self.clients:
            stats.fold()
        self.fetch_of_followers.fold()
