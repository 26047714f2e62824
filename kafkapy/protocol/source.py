"""Python source of one codec while it is being written, and what reading and writing have in common.

The same lines serve in two ways. A codec that is wanted at run time is compiled to a Python function at once. The codecs of
the hot versions are also written into modules that mypyc compiles (`codec_modules`); then they are `typed`: local variables
have types, and what machine code does faster by arithmetic calls `typed_wire` in place of `struct`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from kafkapy.protocol import wire
from kafkapy.protocol.schema import Field, StructType

FORMAT = {"bool": "?", "int8": "b", "int16": "h", "int32": "i", "int64": "q", "float64": "d", "uuid": "16s"}
"""Format characters of the types of fixed size."""

SIZE = {"bool": 1, "int8": 1, "int16": 2, "int32": 4, "int64": 8, "float64": 8, "uuid": 16}


class Source:
    """Lines of a function under way, with the objects that its code names.

    `version` and `flexible` are those of the message that is being written or read. A typed codec says 0 for its version where it
    raises: versions whose codecs are the same share one, and what is wrong is said by the codec of the run time.
    """

    def __init__(self, message: StructType, version: int, flexible: bool, typed: bool = False) -> None:
        self.message = message
        self.version = version
        self.flexible = flexible
        self.typed = typed
        self.said_version = 0 if typed else version
        self.names: dict[str, Any] = {}
        """What the code names, for a function of the run time."""
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
        """Makes the value known to the code under this name."""
        self.names[name] = value
        self.expressions[name] = expression
        return name

    def class_named(self, cls: StructType) -> str:
        return self.named(f"_{cls.name_in_code}", cls, cls.__qualname__)

    def packer_named(self, codes: str, verb: str) -> str:
        """The method `pack` or `unpack_from` of a big-endian struct."""
        name = f"{verb.removesuffix('_from')}_{codes.replace('?', 'o')}"
        return self.named(name, getattr(wire.packer(codes), verb), f'packer("{codes}").{verb}')

    def local(self, name: str, type: str = "i64") -> str:
        """Declares a variable, which matters only where the code is typed."""
        self._types[name] = type if self._types.get(name, type) == type else "Any"
        return name

    def text(self, head: str) -> str:
        declarations = [f"    {name}: {type}" for name, type in self._types.items()] if self.typed else []
        return "\n".join((head, *declarations, *(self._lines or ["    pass"]), ""))

    def compile(self, head: str) -> Callable[..., Any]:
        """The function whose `def` line is `head`."""
        exec(compile(self.text(head), f"<{self.message.__name__} version {self.version}>", "exec"), self.names)
        function: Callable[..., Any] = self.names[head.removeprefix("def ").partition("(")[0]]
        return function

    def has(self, field: Field) -> bool:
        return field.versions.includes(self.version)

    def may_be_null(self, field: Field) -> bool:
        return field.nullable.includes(self.version)

    def tagged(self, cls: StructType) -> list[Field]:
        """The struct's tagged fields in this version, by tag."""
        fields = [field for field in cls.FIELDS if field.tag is not None and self.has(field)]
        return sorted(fields, key=lambda field: field.tag or 0)

    def minimum_size(self, cls: StructType, type: str) -> int:
        """The least bytes that a value of the type takes: what bounds the count of an array's elements."""
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
