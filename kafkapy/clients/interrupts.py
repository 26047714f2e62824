"""Delays Ctrl-C while the main thread runs a client's code; a sleep is interrupted immediately.

Python runs signal handlers in the main thread between any two instructions. A handler that raises there could leave
the client's state inconsistent.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

try:  # the C module below `signal`: without enumerations, its functions are ten times as fast
    import _signal  # type: ignore[import-not-found]
except ImportError:
    _signal = signal

_handler_of: Callable[[int], Any] = _signal.getsignal
_set_handler: Callable[[int, Any], Any] = _signal.signal

_INTERRUPT = int(signal.SIGINT)
_SIGNALS = sorted(int(number) for number in signal.valid_signals() if number < 32)


class Shield:
    """Between `raised` and `lowered`, Ctrl-C is delayed until the thread leaves the client's code.

    Invariant: while `held`, an interrupt is recorded in `caught` and not raised; a second one is raised nevertheless,
    because a callback may hang. Signals only reach the main thread; on other threads the shield does nothing.
    """

    __slots__ = ("_installed", "caught", "held")

    def __init__(self) -> None:
        self.held = True
        self.caught = False
        self._installed = False

    def raised(self) -> Shield:
        """Begin. `held` is True already."""
        _set_handler(_INTERRUPT, self._interrupted)
        self._installed = True
        return self

    def _interrupted(self, number: int, frame: Any) -> None:
        if not self.held or self.caught:
            raise KeyboardInterrupt
        self.caught = True

    def check(self) -> None:
        """Raise the delayed interrupt, if there is one."""
        if self.caught:
            self.caught = False
            raise KeyboardInterrupt

    def lowered(self) -> None:
        """End, and raise the delayed interrupt."""
        self.held = True
        if self._installed:
            _set_handler(_INTERRUPT, signal.default_int_handler)
            self._installed = False
            self.check()


def shield() -> Shield | None:
    """Return a shield for this thread; None if the program has its own signal handlers, which might raise in the
    client's code."""
    if threading.get_ident() != threading.main_thread().ident:
        return Shield()
    own = [handler for handler in map(_handler_of, _SIGNALS) if callable(handler)]
    if not own:
        return Shield()
    return Shield().raised() if own == [signal.default_int_handler] else None
