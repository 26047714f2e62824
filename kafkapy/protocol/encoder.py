"""Compiles the encoder of one message in one version.

The whole message, nested structs and all, becomes one function that appends pieces of bytes to a list: neighbours of
fixed size, and the length that follows them, are packed by one `struct.pack`. For Heartbeat v3:

    def encode(o, parts, large):
        x = o.group_id.encode()
        n = len(x)
        parts.append(pack_h(n))
        parts.append(x)
        x = o.member_id.encode()
        n = len(x)
        parts.append(pack_ih(o.generation_id, n))
        parts.append(x)
        ...

Values are not checked where packing them checks them anyway: what goes wrong (`struct.error`, `AttributeError`,
`TypeError`) is explained afterwards, by `explain`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final, NoReturn

from kafkapy.protocol import number_arrays, wire
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.schema import NEW, Field, StructType
from kafkapy.protocol.source import FORMAT, Source

Encoder = Callable[[Any, list[Any], list[int]], None]

LARGE = 4096
"""Records from this size on are passed on separately instead of being joined with adjacent parts."""

_ENCODE = "def encode(o, parts, large):"
_ENCODE_TYPED = "def {name}(o: Any, parts: list[Any], large: list[int]) -> None:"

_WRITERS = ("BYTE", "bad_uuid", "string_length", "tagged_fields", "varint")


@cache
def compile_encoder(message: StructType, version: int, flexible: bool) -> Encoder:
    """Return `encode(message, parts, large)`, which appends the encoded pieces to `parts`, and to `large` the indexes
    of pieces that must stay separate.
    """
    return EncoderSource(message, version, flexible).write().compile(_ENCODE)


def unsupported(name: str, value: object, version: int) -> NoReturn:
    raise KafkaError(
        Errors.UNSUPPORTED_VERSION, f"Attempted to write a non-default {name} at version {version}: {value!r}"
    )


BYTES: Final = (bytes, bytearray, memoryview)

_Run = list[tuple[str, str]]
"""Format characters and expressions of adjacent fields that are to be packed together ("x": a zero byte, no
expression).
"""


class EncoderSource(Source):
    """Writes the encoder. Variables: `o1` struct at depth 1, `x1` and `n1` its array and count, `x` and `n` a value and
    its length.

    `_run` is what remains to be packed. After an array there are two cases: if the array had elements (`_condition` is
    true), the first part is packed already; if it was empty, `_before` (up to its count) must still be packed together
    with what follows.
    """

    def __init__(self, message: StructType, version: int, flexible: bool, typed: bool = False) -> None:
        super().__init__(message, version, flexible, typed)
        self._run: _Run = []
        self._condition = ""
        self._before: _Run = []
        self._depth = 0
        self._write = "parts.append"
        self.names |= {"BYTES": BYTES, "unsupported": unsupported, "number_array": number_arrays.number_array}
        self.names |= {name: getattr(wire, name) for name in _WRITERS}

    def write(self) -> EncoderSource:
        self._struct(self.message, "o")
        return self

    def typed_text(self, name: str) -> str:
        return self.text(_ENCODE_TYPED.format(name=name))

    # --- packing of fixed sizes

    def _fixed(self, code: str, expression: str = "") -> None:
        self._run.append((code, expression))

    def _flush(self, *last: tuple[str, str]) -> None:
        """Pack the collected fields, and `last` with them."""
        self._pack_all(*last)
        self._run, self._condition, self._before = [], "", []

    def _pack_all(self, *last: tuple[str, str]) -> None:
        run = [*self._run, *last]
        if not self._condition:
            self._pack(run)
        elif run:
            with self.block(f"if {self._condition}:"):
                self._pack(run)
            with self.block("else:"):
                self._pack(self._before + run)
        else:
            with self.block(f"if not {self._condition}:"):
                self._pack(self._before)

    def _pack(self, run: _Run) -> None:
        codes = "".join(code for code, _ in run)
        values = ", ".join(expression for _, expression in run if expression)
        if not values:
            if codes:
                self.line(f"{self._write}({bytes(len(codes))!r})")
        elif codes == "B":
            self.line(f"{self._write}(BYTE[{values}])")
        else:
            self.line(f"{self._write}({self.packer_named(codes, 'pack')}({values}))")

    def _length(self, code: str, number: str) -> None:
        """Write the collected fields and then the length or count in the variable `number`, -1 for null."""
        if not self.flexible:
            self._flush((code, number))
            return
        long = "string_length" if code == "h" else "varint"
        if not self._run and not self._condition:
            self.line(f"{self._write}(BYTE[{number} + 1] if {number} < 127 else {long}({number} + 1))")
            return
        with self.block(f"if {number} < 127:"):
            self._pack_all(("B", f"{number} + 1"))
        with self.block("else:"):
            self._pack_all()
            self.line(f"{self._write}({long}({number} + 1))")
        self._run, self._condition, self._before = [], "", []

    # --- structs

    def _struct(self, cls: StructType, variable: str) -> None:
        for field in cls.FIELDS:
            if not self.has(field) and not field.ignorable:
                self._must_be_default(cls, field, f"{variable}.{field.name}")
        for field in cls.FIELDS:
            if self.has(field) and field.tag is None:
                self._field(cls, field, f"{variable}.{field.name}")
        if self.flexible:
            self._tagged_section(cls, variable)
        self._flush()

    def _must_be_default(self, cls: StructType, field: Field, value: str) -> None:
        name = f"{cls.__name__}.{field.name}"
        is_set = f"not ({self._is_default(cls, field, value)})"
        self.line(f"if {is_set}: unsupported({name!r}, {value}, {self.error_version})")

    def _is_default(self, cls: StructType, field: Field, value: str) -> str:
        """Return an expression that is true if the value is the field's default."""
        struct = cls.struct_named(field.struct_name) if field.type == field.struct_name else None
        if struct and not field.nullable.includes(field.versions.lowest):
            empty = self.named(f"EMPTY_{struct.__name__}", struct(), f"{struct.__qualname__}()")
            return f"{value} is None or {value} == {empty}"
        if field.default is NEW:
            return f"len({value}) == 0" if self.typed else f"{value} == []"
        return f"{value} is None" if field.default is None else f"{value} == {field.default!r}"

    def _tagged_section(self, cls: StructType, variable: str) -> None:
        tagged = self.tagged(cls)
        if not tagged:
            self._fixed("x")
            return
        if all(field.default is None for field in tagged):
            usual = [f"{variable}.{field.name} is None" for field in tagged]
        else:
            usual = [f"({self._is_default(cls, field, f'{variable}.{field.name}')})" for field in tagged]
        with self.block(f"if {' and '.join(usual)}:"):
            self._pack_all(("x", ""))
        with self.block("else:"):
            self._flush()
            tags, outer = self.local(f"tags{self._depth}", "list[tuple[int, bytes]]"), self._write
            self.line(f"{tags} = []")
            for field in tagged:
                self._tagged_field(cls, field, f"{variable}.{field.name}", tags)
            self.line(f"{outer}(tagged_fields({tags}))")

    def _tagged_field(self, cls: StructType, field: Field, value: str, tags: str) -> None:
        """Append the field's tag and encoded value to `tags`, unless it has its default."""
        pieces, outer = self.local(f"pieces{self._depth}", "list[bytes]"), self._write
        with self.block(f"if not ({self._is_default(cls, field, value)}):"):
            self.line(f"{pieces} = []")
            self._write = f"{pieces}.append"
            self._field(cls, field, value)
            self._flush()
            self._write = outer
            self.line(f'{tags}.append(({field.tag}, b"".join({pieces})))')

    # --- fields

    def _field(self, cls: StructType, field: Field, value: str) -> None:
        nullable = self.may_be_null(field)
        if field.type == "uuid":
            self.line(f'if len({value}) != 16: bad_uuid("{cls.__name__}.{field.name}", {value})')
        if field.type in FORMAT:
            self._fixed(FORMAT[field.type], value)
        elif field.element_type in FORMAT:
            self._numbers(FORMAT[field.element_type], nullable, value)
        elif field.element_type:
            self._array(cls, field.element_type, nullable, value)
        elif field.struct_name:
            self._nested(cls.struct_named(field.struct_name), nullable, value)
        else:
            self._sized(field.type, nullable, value)

    def _nested(self, cls: StructType, nullable: bool, value: str) -> None:
        self._flush()
        self._depth += 1
        variable = self.local(f"o{self._depth}", "Any")
        self.line(f"{variable} = {value}")
        if nullable:
            with self.block(f"if {variable} is None:"):
                self.line(f'{self._write}(b"\\xff")')
            with self.block("else:"):
                self._fixed("b", "1")
                self._struct(cls, variable)
        else:
            self._struct(cls, variable)
        self._depth -= 1

    def _sized(self, type: str, nullable: bool, value: str) -> None:
        """Write a string, bytes or records: a length, then the content."""
        x, n = self.local("x", "Any"), self.local("n")
        encoded = "{}"
        if type == "string":
            encoded = "utf8({})" if self.typed else "{}.encode()"
            if not nullable:
                x = self.local("text", "bytes")
        if nullable:
            self.line(f"{x} = {value}")
            with self.block(f"if {x} is None:"):
                self.line(f"{n} = -1")
                self.line(f'{x} = b""')
            with self.block("else:"):
                if type == "string":
                    self.line(f"{x} = {encoded.format(x)}")
                self.line(f"{n} = len({x})")
        else:
            self.line(f"{x} = {encoded.format(value)}")
            self.line(f"{n} = len({x})")
        self._length("h" if type == "string" else "i", n)
        if type != "records":
            self.line(f"{f'if {n} > 0: ' * nullable}{self._write}({x})")
            return
        with self.block(f"if {n} > 0:"):
            self.line(
                f"if {n} >= {LARGE} or type(x) is not bytes and not isinstance(x, BYTES): large.append(len(parts))"
            )
            self.line(f"{self._write}({x})")

    def _numbers(self, code: str, nullable: bool, value: str) -> None:
        self._flush()
        self.local("n")
        self.local("x", "Any")
        name = f"pack_small_{code}{'_compact' * self.flexible}"
        small = self.named(name, wire.small_packers(code, self.flexible), f'small_packers("{code}", {self.flexible})')
        count = "n + 1" if self.flexible else "n"
        self.line(f"x = {value}")
        packed = f"{small}[n]({count}, *x) if n < {wire.SMALL} else number_array('{code}', x, {self.flexible})"
        if nullable:
            null = b"\0" if self.flexible else b"\xff\xff\xff\xff"
            with self.block("if x is None:"):
                self.line(f"{self._write}({null!r})")
            with self.block("else:"):
                self.line("n = len(x)")
                self.line(f"{self._write}({packed})")
        else:
            self.line("n = len(x)")
            self.line(f"{self._write}({packed})")

    def _array(self, cls: StructType, type: str, nullable: bool, value: str) -> None:
        """Write strings or structs. The count of an empty array is packed together with the adjacent fields."""
        if self._condition:
            self._flush()
        self._depth += 1
        array = self.local(f"x{self._depth}", "Any" if nullable else "list[Any]")
        count, element = self.local(f"n{self._depth}"), self.local(f"o{self._depth}", "Any")
        self.line(f"{array} = {value}")
        self.line(f"{count} = -1 if {array} is None else len({array})" if nullable else f"{count} = len({array})")
        before = [*self._run]
        with self.block(f"if {count} > 0:"):
            self._length("i", count)
            with self.block(f"for {element} in {array}:"):
                if type == "string":
                    self._sized(type, False, element)
                else:
                    self._struct(cls.struct_named(type), element)
        self._depth -= 1
        self._condition = f"{count} > 0"
        self._before = [*before, ("B", f"{count} + 1") if self.flexible else ("i", count)]
        self._run = []
