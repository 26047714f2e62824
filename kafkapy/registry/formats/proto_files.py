"""A .proto file and its imports, as descriptors with full type names."""

from __future__ import annotations

from typing import Any, NamedTuple


class ProtoFiles(NamedTuple):
    """`file` is one of `documents` (name -> descriptor). `origins`: name of a reference -> subject and version."""

    file: Any
    documents: dict[str, Any]
    origins: dict[str, tuple[str, int]]
