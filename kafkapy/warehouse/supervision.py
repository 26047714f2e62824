"""Work that goes on in a thread, step by step: a step that fails is tried again, and a worker that has given up says so."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

_log = logging.getLogger("kafkapy.warehouse")

MAX_FAILURES = 8
"""Of steps that follow one another: with the pauses between them some two minutes, and the time that the steps take."""
MAX_PAUSE_SECONDS = 60.0
STOP_SECONDS = 10

Step = Callable[[], float | None]
"""Does some work. Returns the seconds until it is to be called again; None if all is done."""


class Worker:
    """Calls `step` until it is done, has failed for good, or `stop` is called.

    The methods that a Spark StreamingQuery has, too, have the names that they have there.

    Args:
        name: of the thread, and in what is logged.
        step: what is done.
        is_permanent: errors after which no further attempt is made.
        told: called with each error, and with None after a step that succeeded.
        cancel: called by `stop`, to end what the step is waiting for.
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
        """What it has given up with; None if it has not."""
        return self._failure

    def awaitTermination(self, timeout: float | None = None) -> bool:
        """Has it ended, within `timeout` seconds? Raises what it has given up with."""
        ended = self._ended.wait(timeout)
        self.check()
        return ended

    def wait(self, seconds: float) -> None:
        """Until it has ended, but no longer."""
        self._ended.wait(seconds)

    def check(self) -> None:
        """Raise what it has given up with."""
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """What is under way is cancelled; returns when it has ended, or does not end. It may: what it does survives a kill."""
        self._stopped.set()
        for _ in range(STOP_SECONDS):
            if not self._thread.is_alive():
                break
            self._cancel()
            self._ended.wait(1)

    def attempt(self) -> float | None:
        """One step. Seconds until the next; None if it was the last. Raises what is permanent, and the last of many failures."""
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
    """What an error says, in a line: Spark's have Java's stack traces below it."""
    text = str(getattr(error, "java_exception", error)).strip()
    return text.splitlines()[0] if text else repr(error)
