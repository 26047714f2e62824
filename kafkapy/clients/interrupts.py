"""Ctrl-C while the main thread itself runs a client: at once where it sleeps, and not in the midst of its work.

Python runs the handlers of signals in the main thread between any two steps of its code. One that raises there would
leave a client with half a change made.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

try:  # what `signal` wraps, without the enumerations that cost ten times as much as the rest
    import _signal  # type: ignore[import-not-found]
except ImportError:
    _signal = signal

_handler_of: Callable[[int], Any] = _signal.getsignal
_set_handler: Callable[[int, Any], Any] = _signal.signal

_INTERRUPT = int(signal.SIGINT)
_SIGNALS = sorted(int(number) for number in signal.valid_signals() if number < 32)


class Shield:
    """Between `raised` and `lowered`, Ctrl-C waits until the thread is out of the client's code.

    Invariant: while `held`, an interrupt is noted in `caught` and not raised; a second one is raised nevertheless, for
    a callback may hang. Only the main thread needs that; the shield of others is made of air.
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
        """Raise what was held back."""
        if self.caught:
            self.caught = False
            raise KeyboardInterrupt

    def lowered(self) -> None:
        """End, with the interrupt that was held back."""
        self.held = True
        if self._installed:
            _set_handler(_INTERRUPT, signal.default_int_handler)
            self._installed = False
            self.check()


def shield() -> Shield | None:
    """The shield of this thread; None if it had better not run a client: handlers of the program's own might raise."""
    if threading.get_ident() != threading.main_thread().ident:
        return Shield()
    own = [handler for handler in map(_handler_of, _SIGNALS) if callable(handler)]
    if not own:
        return Shield()
    return Shield().raised() if own == [signal.default_int_handler] else None
