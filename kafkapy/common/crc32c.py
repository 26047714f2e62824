"""CRC-32C, by the package of that name; to ask for its version, as it does itself, takes longer than all of `kafkapy.record`."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.common.light_imports import part_of

crc32c: Callable[[bytes | bytearray | memoryview], int] = part_of("crc32c", "_crc32c").crc32c
