"""One client's view of a driver: its timers are cancelled when the client is closed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from kafkapy.clients.driver import DEFAULT_SOCKET_OPTIONS, Channel, Driver, SocketOptions, TimerHandle, Transport
from kafkapy.errors import Cancelled
from kafkapy.runtime.completion import Completion

T = TypeVar("T")

_SCRATCH_BYTES = 1 << 18


class ClientDriver(Driver):
    """Delegates to the driver below, and tracks all timers of the client, so that none outlives it.

    Invariant: `_timers` are those that neither have fired nor were cancelled; there are none while `closed`. A sleep
    that runs when the client is closed, or begins later, fails with `Cancelled`, which ends retry loops.
    """

    def __init__(self, driver: Driver) -> None:
        self.time = driver.time
        self.closed = False
        self._driver = driver
        self._timers: set[_ClientTimer] = set()
        self._scratch: memoryview | None = None

    @property
    def scratch(self) -> memoryview:
        if self._scratch is None:
            self._scratch = memoryview(bytearray(_SCRATCH_BYTES))
        return self._scratch

    def connect(
        self, host: str, port: int, channel: Channel, options: SocketOptions = DEFAULT_SOCKET_OPTIONS
    ) -> Transport:
        return self._driver.connect(host, port, channel, options)

    def call_later(self, delay_ms: float, f: Callable[[], object]) -> TimerHandle:
        """Call `f` after the delay, unless the client is closed before."""
        timer = _ClientTimer(self._timers, f)
        if not self.closed:
            timer.start(self._driver, delay_ms)
        return timer

    def call_soon(self, f: Callable[[], object]) -> None:
        self._driver.call_soon(f)

    def call_soon_threadsafe(self, f: Callable[[], object]) -> None:
        self._driver.call_soon_threadsafe(f)

    def call_now_or_soon(self, f: Callable[[], object]) -> None:
        self._driver.call_now_or_soon(f)

    def sleep(self, ms: float) -> Completion[None]:
        """Return a completion that is done after `ms`. Cancelling it cancels the timer."""
        pause: Completion[None] = Completion()
        timer = _ClientTimer(self._timers, lambda: pause.set_result(None), pause)
        if self.closed:
            timer.end()
        else:
            timer.start(self._driver, ms)
            pause.add_callback(lambda _: timer.cancel())
        return pause

    def run_in_thread(self, f: Callable[[], T]) -> Completion[T]:
        return self._driver.run_in_thread(f)

    def open(self) -> None:
        """Accept timers again after `close`."""
        self.closed = False

    def close(self) -> None:
        """Cancel all timers, and release the memory."""
        self.closed = True
        if self._scratch is not None:
            self._scratch.release()  # even if views still refer to it
            self._scratch = None
        for timer in list(self._timers):
            timer.end()


class _ClientTimer:
    """A timer that its client tracks; `pause` is the completion that fails if the client is closed first."""

    __slots__ = ("_all", "_f", "_handle", "_pause")

    def __init__(
        self, all_timers: set[_ClientTimer], f: Callable[[], object], pause: Completion[None] | None = None
    ) -> None:
        self._all = all_timers
        self._f: Callable[[], object] | None = f
        self._pause = pause
        self._handle: TimerHandle | None = None

    def start(self, driver: Driver, delay_ms: float) -> None:
        self._all.add(self)
        self._handle = driver.call_later(delay_ms, self._fire)

    def cancel(self) -> None:
        self._all.discard(self)
        handle = self._handle
        self._f = self._handle = self._pause = None
        if handle is not None:
            handle.cancel()

    def end(self) -> None:
        """Cancel the timer and fail `pause`, because the client is closed."""
        pause = self._pause
        self.cancel()
        if pause is not None:
            pause.set_exception(Cancelled("The client was closed"))

    def _fire(self) -> None:
        f = self._f
        self._handle = None
        self.cancel()
        if f is not None:
            f()
