"""A .proto file with what it imports, as descriptors whose types are full names."""

from __future__ import annotations

from typing import Any, NamedTuple


class ProtoFiles(NamedTuple):
    """`file` is one of `documents`, which are by name. `origins`: of those that are references, subject and version."""

    file: Any
    documents: dict[str, Any]
    origins: dict[str, tuple[str, int]]
