"""`kafkapy.connect.data.numbers`: conversions as those of Java's numbers."""

from __future__ import annotations

import math

import pytest

from kafkapy.connect.data.numbers import double_value, float32
from kafkapy.connect.data.scalars import Float32


@pytest.mark.parametrize("value", [-0.0, 0.0, 1.5, -math.inf, math.inf])
def test_a_float_keeps_its_value_and_sign(value: float) -> None:
    for converted in (float32(value), float32(Float32(value)), double_value(Float32(value))):
        assert converted == value and math.copysign(1, converted) == math.copysign(1, value)


def test_what_is_too_large_becomes_infinity() -> None:
    assert float32(1e300) == math.inf and float32(-1e300) == -math.inf
    assert double_value(10**400) == math.inf and double_value(-(10**400)) == -math.inf
