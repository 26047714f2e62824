"""The hash of values, against Java's."""

from __future__ import annotations

import pytest

from kafkapy.streams.processors.foreignkeyjoin.murmur3 import hash128

OF_KAFKA = [
    (0, "9d2764a018e329428c3cf3b035938518"),
    (1, "bff2166f25d4e3caad76f90042c32eb7"),
    (8, "5376fe5d8752a4802bcfb922970c534c"),
    (9, "b79cc91e67eb164f7285936d18b5c4c8"),
    (16, "3b1ca826ba2a8ab100ff368af7e15570"),
    (17, "14606ec89b0c68c720e38f08a941bbdf"),
    (24, "51113554edd27de75501bcf9acda8270"),
    (25, "9b832d0cc79d389c4ed36db4f9127cc2"),
    (31, "0fc8bff6b4d635a2db8b6c0ce90a3cd8"),
    (32, "271fc7adca25c66d69f499a2c53fd088"),
    (33, "c811ac0257c06b43de4815d1c281354e"),
    (47, "0b9da06555e89063c3433b8caf3e944b"),
    (100, "ac5e6f34f01858a4773258770366c397"),
]
"""Of `Murmur3.hash128` for so many bytes."""


@pytest.mark.parametrize("length, expected", OF_KAFKA)
def test_a_hash_is_that_of_kafka(length: int, expected: str) -> None:
    assert hash128(bytes((i * 37 + 200) % 256 for i in range(length))).hex() == expected
