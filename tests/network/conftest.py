"""Fixtures of the network's tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.network.loopback import Loopback


@pytest.fixture
def make_loopback() -> Iterator[Callable[..., Loopback]]:
    made: list[Loopback] = []

    def make(*arguments: Any, **options: Any) -> Loopback:
        made.append(Loopback(*arguments, **options))
        return made[-1]

    yield make
    for loopback in made:
        loopback.close()
