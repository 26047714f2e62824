"""The collector rests while large requests are about, and not for ever."""

from __future__ import annotations

import gc
import time

import pytest

from kafkapy.common.garbage import LONGEST_REST_SECONDS, Rest


def test_the_collector_works_again_after_the_last_rest() -> None:
    assert gc.isenabled()
    first, second = Rest(), Rest()
    assert not gc.isenabled()
    del first
    assert not gc.isenabled()
    del second
    assert gc.isenabled()


def test_it_does_not_rest_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: now)
    first = Rest()
    monkeypatch.setattr(time, "monotonic", lambda: now + LONGEST_REST_SECONDS + 1)
    late = Rest()
    del first
    assert gc.isenabled()
    del late
    third = Rest()
    assert not gc.isenabled()
    del third
    assert gc.isenabled()
