"""Generates the Python source of one codec: the common part of decoders and encoders.

The same lines are used in two ways. A run-time codec is compiled to a Python function immediately. The codecs of hot
versions are also written into modules that mypyc compiles (`codec_modules`); then they are `typed`: local variables
have types, and `typed_wire` replaces `struct` where arithmetic is faster as machine code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafkapy.protocol import wire
from kafkapy.protocol.schema import Field, StructType

FORMAT = {"bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float64": "d", "uuid": "16s"}
"""Format characters of fixed-size types."""

SIZE = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float64": 8, "uuid": 16}


class Source:
    """The lines of a function, with the objects that its code refers to.

    `version` and `flexible` are those of the message. A typed codec raises errors with version 0: versions with equal
    codecs share one, and the run-time codec explains errors.
    """

    def __init__(self, message: StructType, version: int, flexible: bool, typed: bool = False) -> None:
        self.message = message
        self.version = version
        self.flexible = flexible
        self.typed = typed
        self.error_version = 0 if typed else version
        self.names: dict[str, Any] = {}
        """The objects that the code refers to, for a run-time function."""
        self.expressions: dict[str, str] = {}
        """The same for a module: Python expressions."""
        self._types: dict[str, str] = {}
        self._lines: list[str] = []
        self._indent = 1

    def line(self, text: str) -> None:
        self._lines.append("    " * self._indent + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._indent += 1
        yield
        self._indent -= 1

    def named(self, name: str, value: object, expression: str) -> str:
        """Make the value available to the code under this name, and return the name."""
        self.names[name] = value
        self.expressions[name] = expression
        return name

    def class_named(self, cls: StructType) -> str:
        return self.named(f"_{cls.name_in_code}", cls, cls.__qualname__)

    def packer_named(self, codes: str, verb: str) -> str:
        """Return the name of the method `pack` or `unpack_from` of a big-endian struct."""
        name = f"{verb.removesuffix('_from')}_{codes.replace('?', 'o')}"
        return self.named(name, getattr(wire.packer(codes), verb), f'packer("{codes}").{verb}')

    def local(self, name: str, type: str = "i64") -> str:
        """Declare a variable, which matters only for typed code."""
        self._types[name] = type if self._types.get(name, type) == type else "Any"
        return name

    def text(self, head: str) -> str:
        declarations = [f"    {name}: {type}" for name, type in self._types.items()] if self.typed else []
        return "\n".join((head, *declarations, *(self._lines or ["    pass"]), ""))

    def compile(self, head: str) -> Callable[..., Any]:
        """Return the function whose `def` line is `head`."""
        exec(compile(self.text(head), f"<{self.message.__name__} version {self.version}>", "exec"), self.names)
        function: Callable[..., Any] = self.names[head.removeprefix("def ").partition("(")[0]]
        return function

    def has(self, field: Field) -> bool:
        return field.versions.includes(self.version)

    def may_be_null(self, field: Field) -> bool:
        return field.nullable.includes(self.version)

    def tagged(self, cls: StructType) -> list[Field]:
        """Return the struct's tagged fields in this version, by tag."""
        fields = [field for field in cls.FIELDS if field.tag is not None and self.has(field)]
        return sorted(fields, key=lambda field: field.tag or 0)

    def minimum_size(self, cls: StructType, type: str) -> int:
        """Return the minimum bytes of a value of the type, which bounds the count of an array's elements."""
        if type in SIZE:
            return SIZE[type]
        if type[0].isupper():
            struct = cls.struct_named(type)
            size = int(self.flexible)
            for field in struct.FIELDS:
                if self.has(field) and field.tag is None:
                    nullable_struct = field.type == field.struct_name and self.may_be_null(field)
                    size += 1 if nullable_struct else self.minimum_size(struct, field.type)
            return max(size, 1)
        if self.flexible:
            return 1
        return 2 if type == "string" else 4
