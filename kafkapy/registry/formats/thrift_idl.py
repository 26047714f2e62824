"""Parses Thrift's interface definitions with thriftpy2: the structs of a text, and the types of their fields."""

from __future__ import annotations

import hashlib
import io
import re
from functools import lru_cache
from importlib import import_module
from typing import Any, NamedTuple

from kafkapy.common.extras import need
from kafkapy.registry.compatibility.incompatibility import SchemaParseError

_NAMES = {
    2: "bool",
    3: "byte",
    4: "double",
    6: "i16",
    8: "i32",
    10: "i64",
    11: "string",
    12: "struct",
    13: "map",
    14: "set",
    15: "list",
}
_BINARY = 18
_INCLUDE = re.compile(r"(?m)^\s*include\b")
_MAP, _SET, _LIST, _STRUCT = 13, 14, 15, 12


class ThriftType(NamedTuple):
    """A type: its name, and its element types. A map has `key` and `item`, a list or set `item`."""

    name: str
    struct: Any = None
    enum: Any = None
    key: Any = None
    item: Any = None

    @classmethod
    def of(cls, code: int, spec: Any) -> ThriftType:
        """Convert thriftpy2's type code and spec."""
        if code == _STRUCT:
            return cls(spec.__name__, struct=spec)
        if code == _MAP:
            key, item = (cls._inner(each) for each in spec)
            return cls(f"map<{key.name}, {item.name}>", key=key, item=item)
        if code in (_LIST, _SET):
            item = cls._inner(spec)
            return cls(f"{_NAMES[code]}<{item.name}>", item=item)
        if spec is not None and hasattr(spec, "_VALUES_TO_NAMES"):
            return cls(spec.__name__, enum=spec)
        return cls("binary" if code == _BINARY else _NAMES.get(code, f"type {code}"))

    @property
    def container(self) -> str:
        """Return "map", "list" or "set"."""
        return self.name.partition("<")[0]

    @classmethod
    def _inner(cls, spec: Any) -> ThriftType:
        return cls.of(*spec) if isinstance(spec, tuple) else cls.of(spec, None)

    @staticmethod
    def fields_of(struct: Any) -> list[ThriftField]:
        """Return the struct's fields by id."""
        return _fields_of(struct)


class ThriftField(NamedTuple):
    id: int
    name: str
    type: ThriftType
    required: bool
    default: Any


@lru_cache(maxsize=10_000)
def _fields_of(struct: Any) -> list[ThriftField]:
    defaults = dict(struct.default_spec)
    found = []
    for number, spec in sorted(struct.thrift_spec.items()):
        code, name, *inner, required = spec
        kind = ThriftType.of(code, inner[0] if inner else None)
        found.append(ThriftField(number, name, kind, bool(required), defaults.get(name)))
    return found


@lru_cache(maxsize=1_000)
def module_of(text: str) -> Any:
    """Parse a text without includes with thriftpy2. Raises SchemaParseError with thriftpy2's message."""
    need("registry", "thriftpy2", by="Thrift")
    if _INCLUDE.search(text):
        raise SchemaParseError("A Thrift definition includes no other files here")
    parser: Any = import_module("thriftpy2.parser.parser")
    name = f"thrift_{hashlib.sha256(text.encode()).hexdigest()[:16]}_thrift"
    try:
        return parser.parse_fp(io.StringIO(text), name, enable_cache=False)
    except Exception as error:
        raise SchemaParseError(f"This is no Thrift definition: {error}") from error


def struct_of(text: str, full_name: str) -> Any:
    """Return the struct with the last part of an event's full name. Raises SchemaParseError."""
    name = full_name.rpartition(".")[2]
    found = getattr(module_of(text), name, None)
    if found is None or not hasattr(found, "thrift_spec"):
        raise SchemaParseError(f"The Thrift definition has no struct {name}")
    return found


def structs_of(text: str) -> list[Any]:
    """Return the structs in the order of the text. Raises SchemaParseError if there is none."""
    found = [
        each for each in vars(module_of(text)).values() if hasattr(each, "thrift_spec") and not _is_exception(each)
    ]
    if not found:
        raise SchemaParseError("The Thrift definition has no struct")
    return found


def enums_of(text: str) -> list[Any]:
    return [each for each in vars(module_of(text)).values() if hasattr(each, "_VALUES_TO_NAMES")]


def _is_exception(found: Any) -> bool:
    return isinstance(found, type) and issubclass(found, Exception)
