from __future__ import annotations

import sys

import pytest

from kafkapy.common.deep_calls import run_deep


def depth(levels: int) -> int:
    return 0 if levels == 0 else 1 + depth(levels - 1)


def test_there_is_room() -> None:
    limit = sys.getrecursionlimit()
    assert run_deep(lambda: depth(20_000)) == 20_000
    assert sys.getrecursionlimit() == limit


def test_room_has_an_end_and_errors_pass() -> None:
    with pytest.raises(RecursionError):
        run_deep(lambda: depth(1_000_000))

    def fail_below() -> int:
        raise ValueError(str(depth(5_000)))

    with pytest.raises(ValueError, match="5000"):
        run_deep(fail_below)
