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
    """Runs a client on the thread that calls `run`, and only during that call. It starts no thread.

    Invariant: `_running` is True exactly while a thread is in `run`, and that thread closes the loop if `_halted`;
    both change under the baton. One thread at a time may be in `run`; `act`, `close` and `call_soon_threadsafe` are
    thread-safe.
    """

    def __init__(self, time: Time | None = None) -> None:
        """`time` None: the system's clock. A mock clock must be advanced by a callback, or by another thread that
        calls `wake` afterwards."""
        self.time: Time = time or SystemTime()
        super().__init__(None if time is None else lambda: self.time.monotonic_ms() / 1000)
        self._running = False
        self._halted = False

    def run(self, f: Callable[..., Any] | Completion[Any], *args: Any, timeout_ms: float | None = None) -> Any:
        """Run the loop until a completion, a function or a coroutine function over completions is done; return its
        result.

        Raises its error; KafkaTimeoutError if it takes longer than `timeout_ms` (it is cancelled then); and
        IllegalStateError if the driver is closed, before or meanwhile. An interrupt (Ctrl-C) closes the driver,
        because the client's state may be inconsistent.
        """
        deadline = None if timeout_ms is None else self.now() + max(0.0, timeout_ms) / 1000
        self._enter()
        try:
            if isinstance(f, Completion):
                waited = f
            else:
                with self.baton:
                    self.glance()  # process events since the last run: a time-out, a closed connection
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
        """Run `f` immediately, between callbacks of the thread in `run`. Thread-safe."""
        if self.baton.holder == threading.get_ident():
            f()
            return
        with self.baton:
            f()
        self.wake()

    def call_now_or_soon(self, f: Callable[[], object]) -> None:
        self.call_soon_threadsafe(f)

    def close(self) -> None:
        """Close everything; a thread in `run` returns. Thread-safe and idempotent."""
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
