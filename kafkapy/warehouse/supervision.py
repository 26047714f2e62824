"""Runs work in a thread, step by step: a failed step is retried, and the worker's owner gets the error that ended
it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger("kafkapy.warehouse")

MAX_FAILURES = 8
"""Limit of consecutive failures: with the pauses between them about two minutes, plus the time of the steps."""
MAX_PAUSE_SECONDS = 60.0
STOP_SECONDS = 10

Step = Callable[[], float | None]
"""Does some work. Returns the seconds until the next call; None if all is done."""


class Worker:
    """Calls `step` until it is done, has failed permanently, or `stop` is called.

    Methods have the names of those of Spark's StreamingQuery.

    Args:
        name: Name of the thread, also in log messages.
        step: The work.
        is_permanent: Returns whether an error must not be retried.
        told: Called with each error, and with None after a successful step.
        cancel: Called by `stop`, to interrupt a blocked step.
    """

    def __init__(
        self,
        name: str,
        step: Step,
        is_permanent: Callable[[Exception], bool] = lambda error: False,
        told: Callable[[Exception | None], object] = lambda error: None,
        cancel: Callable[[], object] = lambda: None,
    ) -> None:
        self.name = name
        self._step = step
        self._is_permanent = is_permanent
        self._told = told
        self._cancel = cancel
        self._failures = 0
        self._failure: BaseException | None = None
        self._stopped = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"warehouse {name}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def isActive(self) -> bool:
        return not self._ended.is_set()

    def exception(self) -> BaseException | None:
        """Return the error that ended the worker; None if there is none."""
        return self._failure

    def awaitTermination(self, timeout: float | None = None) -> bool:
        """Return whether the worker ended within `timeout` seconds. Raises the error that ended it."""
        ended = self._ended.wait(timeout)
        self.check()
        return ended

    def wait(self, seconds: float) -> None:
        """Sleep up to `seconds`, or until the worker has ended."""
        self._ended.wait(seconds)

    def check(self) -> None:
        """Raise the error that ended the worker, if any."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Cancel the current step and wait, for a limited time, for its end. A step that goes on is harmless: it
        survives a kill."""
        self._stopped.set()
        for _ in range(STOP_SECONDS):
            if not self._thread.is_alive():
                break
            self._cancel()
            self._ended.wait(1)

    def attempt(self) -> float | None:
        """Run one step. Return the seconds until the next; None after the last. Raises permanent errors, and the last
        of `MAX_FAILURES`."""
        try:
            pause = self._step()
        except Exception as error:
            if self._stopped.is_set():
                return None
            self._told(error)
            self._failures += 1
            if self._is_permanent(error) or self._failures >= MAX_FAILURES:
                raise
            pause = min(2.0 ** (self._failures - 1), MAX_PAUSE_SECONDS)
            _log.warning("%s has failed, and is tried again in %g s: %s", self.name, pause, sentence(error))
            return pause
        self._failures = 0
        self._told(None)
        return pause

    def _run(self) -> None:
        try:
            while not self._stopped.is_set() and (pause := self.attempt()) is not None:
                self._stopped.wait(pause)
        except BaseException as error:
            _log.error("%s has failed, and is given up: %s", self.name, sentence(error))
            self._failure = error
        finally:
            self._ended.set()


def sentence(error: BaseException) -> str:
    """Return an error's message in one line, without the Java stack trace of Spark's errors."""
    text = str(getattr(error, "java_exception", error)).strip()
    return text.splitlines()[0] if text else repr(error)
