"""A driver that runs the loop in the caller's thread, for single-threaded requests."""

from __future__ import annotations

import threading
from collections.abc import Callable, Coroutine
from typing import Any

from kafkapy.clients.selector_loop import SelectorLoop
from kafkapy.clients.socket_transport import Loop
from kafkapy.common.time import SystemTime, Time
from kafkapy.errors import IllegalStateError, KafkaTimeoutError
from kafkapy.runtime.completion import Completion, spawn


class CallerDriver(SelectorLoop, Loop):
    """Runs a client on the thread that calls `run`, and only while it is in there. It starts no thread.

    Invariant: `_running` is True exactly while a thread is in `run`, and that thread closes the loop when `_halted`; both
    change under the baton. One thread at a time may be in `run`; `act`, `close` and `call_soon_threadsafe` are for any.
    """

    def __init__(self, time: Time | None = None) -> None:
        """`time` None: the machine's. One that is moved by hand must be moved by a callback, or from another thread that
        then calls `wake`."""
        self.time: Time = time or SystemTime()
        super().__init__(None if time is None else lambda: self.time.monotonic_ms() / 1000)
        self._running = False
        self._halted = False

    def run(self, f: Callable[..., Any] | Completion[Any], *args: Any, timeout_ms: float | None = None) -> Any:
        """What a completion, a function or a coroutine function over completions ends with; turns the loop until then.

        Raises what it raises; KafkaTimeoutError if it takes longer than `timeout_ms` (it is cancelled then); and
        IllegalStateError if the driver is closed, before or meanwhile. An interrupt (Ctrl-C) closes the driver: it may
        have come in the midst of the client's work.
        """
        deadline = None if timeout_ms is None else self.now() + max(0.0, timeout_ms) / 1000
        self._enter()
        try:
            if isinstance(f, Completion):
                waited = f
            else:
                with self.baton:
                    self.glance()  # what has come up since the last time: a time-out, a peer that has hung up
                    waited = _begin(f, args)
            while not waited.done and not self._halted:
                if deadline is not None and self.now() >= deadline:
                    with self.baton:
                        waited.cancel()
                    raise KafkaTimeoutError(f"Timed out after {timeout_ms:g} ms")
                self.turn(deadline, lambda: waited.done or self._halted)
        except (KeyboardInterrupt, SystemExit):
            self._halted = True
            raise
        finally:
            self._leave()
        if not waited.done:
            raise IllegalStateError("The Kafka client was closed")
        return waited.result()

    def act(self, f: Callable[[], object]) -> None:
        """Run this now, from any thread, between callbacks of the thread in `run`."""
        if self.baton.holder == threading.get_ident():
            f()
            return
        with self.baton:
            f()
        self.wake()

    def call_now_or_soon(self, f: Callable[[], object]) -> None:
        self.call_soon_threadsafe(f)

    def close(self) -> None:
        """Close everything, from any thread; a thread in `run` returns. Harmless if it was closed."""
        self.act(self._halt)

    def _halt(self) -> None:
        self._halted = True
        if not self._running:
            self._close_loop()

    def _enter(self) -> None:
        if self.baton.holder == threading.get_ident():
            raise IllegalStateError("A blocking method of a Kafka client was called from one of its callbacks")
        with self.baton:
            if self._halted or self._running:
                raise IllegalStateError(f"The Kafka client is {'closed' if self._halted else 'in use elsewhere'}")
            self._running = True

    def _leave(self) -> None:
        with self.baton:
            self._running = False
            if self._halted:
                self._close_loop()

    def _close_loop(self) -> None:
        if not self._closed:
            SelectorLoop.close(self)


def _begin(f: Callable[..., Any], args: tuple[Any, ...]) -> Completion[Any]:
    value = f(*args)
    if isinstance(value, Coroutine):
        value = spawn(value)
    return value if isinstance(value, Completion) else Completion.of(value)
