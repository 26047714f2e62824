"""How many requests of each API there were, how long they took and where (Kafka's `RequestMetrics`)."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.common.metrics import Histogram

_MS = 1000.0


class RequestStats:
    """The requests of one API.

    Most are answered while their handler runs: they take one number. The others take four times, from which `fold` works out
    where the time went. Invariant: both lists hold what came since the last `fold`; all on one thread.
    """

    __slots__ = (
        "_answered",
        "_at_once",
        "answered",
        "at_once",
        "errors",
        "local",
        "remote",
        "send",
        "throttle",
        "total",
    )

    def __init__(self) -> None:
        self._at_once: list[float] = []
        self._answered: list[tuple[float, float, float, float]] = []
        self.at_once: Callable[[float], None] = self._at_once.append
        """Note a request that was answered, and its answer sent, before its handler returned: seconds."""
        self.answered: Callable[[tuple[float, float, float, float]], None] = self._answered.append
        """Note another: when (seconds) it was received, its handler returned, it was answered, the answer was wholly sent."""
        self.total = Histogram()
        """This and the following in ms."""
        self.local = Histogram()
        self.remote = Histogram()
        """Waiting for followers, records, time, ZooKeeper, another thread."""
        self.send = Histogram()
        self.throttle = Histogram()
        self.errors: dict[int, int] = {}
        """Error code -> how often it was answered."""

    def error(self, code: int, times: int = 1) -> None:
        self.errors[code] = self.errors.get(code, 0) + times

    @property
    def count(self) -> int:
        """Requests answered so far."""
        return self.total.count + len(self._at_once) + len(self._answered)

    def fold(self) -> None:
        """To be called about once a second."""
        at_once = [seconds * _MS for seconds in self._at_once]
        if at_once:
            self._at_once.clear()
            self.total.add(at_once)
            self.local.add(at_once)
            self.remote.add_zeros(len(at_once))
            self.send.add_zeros(len(at_once))
        answered = self._answered[:]
        if answered:
            self._answered.clear()
            self.total.add([(sent - received) * _MS for received, _, _, sent in answered])
            self.local.add([(min(handled, done) - received) * _MS for received, handled, done, _ in answered])
            self.remote.add([max(0.0, done - handled) * _MS for _, handled, done, _ in answered])
            self.send.add([(sent - done) * _MS for _, _, done, sent in answered])
        self.throttle.fold()


class RequestStatsByApi:
    """`clients[api key]`, and `followers[api key]`, which differ where Kafka tells a follower's Fetch from a consumer's."""

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
