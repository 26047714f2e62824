"""CRC-32C from the package crc32c, without importing its slow `__init__`, which reads the package's metadata."""

from __future__ import annotations

from collections.abc import Callable

from kafkapy.common.light_imports import import_extension_module

crc32c: Callable[[bytes | bytearray | memoryview], int] = import_extension_module("crc32c", "_crc32c").crc32c
