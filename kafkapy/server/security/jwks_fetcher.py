"""Fetches the keys of an identity provider when they are due (KIP-768)."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.request import urlopen

from kafkapy.common.scheduler import ScheduledTask
from kafkapy.runtime.clock import Clock
from kafkapy.runtime.completion import spawn
from kafkapy.security.sasl.jwks import split_jwks_url

if TYPE_CHECKING:
    from kafkapy.security.sasl.jwks import RefreshingJwks

TIMEOUT_SECONDS: Final = 10
MOST_BYTES: Final = 1 << 20
"""Limit of a key set in bytes: real ones have some kilobytes."""


class JwksFetcher:
    """Fetches in a thread; everything else is on the reactor thread.

    Invariant: while `_fetching`, and after `stop`, no timer is set; otherwise `_timer` is set for when the keys are
    due.
    """

    def __init__(self, url: str, keys: RefreshingJwks, clock: Clock) -> None:
        """`url`: a `file`, `http` or `https` URL."""
        self._kind, self._place = split_jwks_url(url)
        self._keys = keys
        self._clock = clock
        self._timer: ScheduledTask | None = None
        self._fetching = False
        self._stopped = False
        keys.on_due_earlier = self._wait

    def start(self) -> None:
        """Start: a file is read now, so that its keys are available when the listener opens; a provider is requested
        soon.
        """
        if self._kind == "file":
            self._keys.refresh(lambda: _read(self._kind, self._place))
        self._wait()

    def stop(self) -> None:
        """Stop, because the listener is opened again, with other keys."""
        self._stopped = True
        self._wait()

    def _wait(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._fetching or self._stopped:
            return
        self._timer = self._clock.schedule_once("jwks", self._fetch, self._keys.due_in_ms())

    def _fetch(self) -> None:
        self._timer = None
        self._fetching = True
        spawn(self._fetch_and_wait())

    async def _fetch_and_wait(self) -> None:
        try:
            document = await self._clock.in_thread(_read, self._kind, self._place)
        except Exception as problem:
            self._keys.failed(f"{type(problem).__name__}: {problem}")
        else:
            self._keys.loaded(document)
        self._fetching = False
        self._wait()


def _read(kind: str, place: str) -> bytes:
    """Raise OSError or ValueError."""
    if kind == "file":
        with Path(place).open("rb") as file:
            document = file.read(MOST_BYTES + 1)
    else:
        with urlopen(place, timeout=TIMEOUT_SECONDS) as response:
            document = response.read(MOST_BYTES + 1)
    if len(document) > MOST_BYTES:
        raise ValueError(f"the key set has more than {MOST_BYTES} bytes")
    return document
