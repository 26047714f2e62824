"""Compiles the decoder of one message in one version.

The whole message, nested structs and all, becomes one function without calls: neighbours of fixed size, and the length
that follows them, are read by one `struct.unpack_from`, straight into the attributes. For Heartbeat v3:

    def decode(buf, pos):
        limit = len(buf)
        o = new(HeartbeatRequest)
        n, = unpack_h(buf, pos)
        pos += 2
        end = pos + n
        if not pos <= end <= limit: bad_length("HeartbeatRequest.group_id", n, limit - pos)
        o.group_id = text(buf[pos:end], "utf-8", JAVA_UTF8)
        pos = end
        o.generation_id, n, = unpack_ih(buf, pos)
        ...
        return o, pos

Lengths are compared with the bytes that remain before anything is made of them; reading beyond the end with
`unpack_from` or an index raises `struct.error` or `IndexError`, which `Message.decode_from` turns into `SchemaError`.

A typed decoder (see `source`) reads from `bytes`, which machine code does faster than from a view. Requests are small, so all of
one is copied; but of a message with records only a window that moves over them, and begins anew at each array element that comes
near its end. What does not fit into a window, like a name of 500 bytes, is left to the decoder of the run time.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from kafkapy.protocol import number_arrays, wire
from kafkapy.protocol.schema import NEW, Field, StructType
from kafkapy.protocol.source import FORMAT, SIZE, Source

Decoder = Callable[[wire.Buffer, int], tuple[Any, int]]

_DECODE = "def decode(buf, pos):"
_DECODE_TYPED = "def {name}(source: Buffer, pos: i64) -> tuple[Any, i64]:"

_WINDOW = 512
"""Bytes that are copied at a time where machine code reads small fields: indexing bytes is faster than indexing a view,
and at least one array element fits (`_ELEMENT`).
"""
_ELEMENT = 272
"""The bytes of a topic's name, at most 249, and the fields around it."""

_BY_ARITHMETIC = {"B": "buf[pos]", "h": "int16_at(buf, pos)", "i": "int32_at(buf, pos)", "16s": "raw_at(buf, pos, 16)"}
_MAX_SINGLE_READS = 3
"""Machine code reads this many numbers faster one by one."""

_READERS = (
    "JAVA_UTF8",
    "bad_count",
    "bad_length",
    "bad_tag",
    "check_tag_count",
    "rest_of_count",
    "rest_of_string_length",
    "rest_of_varint",
    "skip_tagged_fields",
)


@cache
def compile_decoder(message: StructType, version: int, flexible: bool) -> Decoder:
    """Return `decode(buffer, position) -> (message, end)`, which raises SchemaError, struct.error or IndexError."""
    return DecoderSource(message, version, flexible).write().compile(_DECODE)


class DecoderSource(Source):
    """Writes the decoder. Variables: `n` length or count, `end` end of a value, `o1` struct at depth 1, `a1` array.

    `limit` is the end of `buf`. If `buf` is a window, it starts at `base` of the whole, of which `rest` bytes remain.
    """

    def __init__(self, message: StructType, version: int, flexible: bool, typed: bool = False) -> None:
        super().__init__(message, version, flexible, typed)
        self._run: list[tuple[str, str]] = []
        """Format characters and targets of adjacent fields that are to be read together."""
        self._depth = 0
        self._has_records = any(field.type == "records" for field in _all_fields(message))
        self._windowed = typed and self._has_records
        self._rest = "rest" if self._windowed else "limit"
        self.names |= {"new": object.__new__, "text": str, "memoryview": memoryview}
        self.names["read_numbers"] = number_arrays.read_numbers
        self.names |= {name: getattr(wire, name) for name in _READERS}

    def write(self) -> DecoderSource:
        if self.typed:
            self._prepare_bytes()
        elif self._has_records:
            self.line("view = memoryview(buf)")
        if not self._windowed:
            self.line(f"{self.local('limit')} = len(buf)")
        self._new_struct(self.message, "o")
        self.line(f"return o, {'base + pos' if self._windowed else 'pos'}")
        return self

    def typed_text(self, name: str) -> str:
        return self.text(_DECODE_TYPED.format(name=name))

    def _prepare_bytes(self) -> None:
        self.local("buf", "bytes")
        if self._windowed:
            self.local("view", "memoryview")
            self.line("view = source if isinstance(source, memoryview) else memoryview(source)")
            self.line(f"{self.local('whole')} = len(view)")
            self.line(f"{self.local('base')} = pos")
            self._move_window()
        else:
            self.line("buf = source if isinstance(source, bytes) else bytes(source)")

    def _move_window(self) -> None:
        """Move the window to `base`."""
        self.line(f"buf = bytes(view[base:base + {_WINDOW}])")
        self.line(f"{self.local('limit')} = len(buf)")
        self.line(f"{self.local('rest')} = whole - base")
        self.line("pos = 0")

    # --- reading of fixed sizes

    def _fixed(self, code: str, target: str) -> None:
        self._run.append((code, target))

    def _flush(self) -> None:
        """Read the collected fields of the run."""
        run, self._run = self._run, []
        if self.typed and all(code in _BY_ARITHMETIC for code, _ in run) and len(run) <= _MAX_SINGLE_READS:
            for code, target in run:
                self.line(f"{target} = {_BY_ARITHMETIC[code]}")
                self.line(f"pos += {wire.packer(code).size}")
        else:
            self._read(run)

    def _read(self, run: list[tuple[str, str]]) -> None:
        codes = "".join(code for code, _ in run)
        targets = ", ".join(target for _, target in run)
        if not codes:
            return
        if codes == "B":
            self.line(f"{targets} = buf[pos]")
            self.line("pos += 1")
            return
        self.line(f"{targets}, = {self.packer_named(codes, 'unpack_from')}(buf, pos)")
        self.line(f"pos += {wire.packer(codes).size}")

    def _length(self, code: str) -> None:
        """Read a length or count into `n`; compact ones are stored plus one."""
        self.local("n")
        if not self.flexible:
            self._fixed(code, "n")
            self._flush()
            return
        self._varint("n", "rest_of_string_length" if code == "h" else "rest_of_count")
        self.line("n -= 1")

    def _varint(self, name: str, rest: str = "rest_of_varint") -> None:
        self._fixed("B", self.local(name))
        self._flush()
        self.line(f"if {name} > 127: {name}, pos = {rest}(buf, pos, {name})")

    # --- structs

    def _new_struct(self, cls: StructType, variable: str) -> None:
        """Create an empty struct and fill it."""
        self.line(f"{self.local(variable, 'Any')} = new({self.class_named(cls)})")
        tagged = self.tagged(cls)
        for field in cls.FIELDS:
            if not self.has(field) or field.tag is not None:
                self._default(cls, field, f"{variable}.{field.name}")
        for field in cls.FIELDS:
            if self.has(field) and field.tag is None:
                self._field(cls, field, f"{variable}.{field.name}")
        if self.flexible:
            self._tagged_section(cls, tagged, variable)
        self._flush()

    def _default(self, cls: StructType, field: Field, target: str) -> None:
        if field.default is not NEW:
            self.line(f"{target} = {field.default!r}")
        elif field.element_type:
            self.line(f"{target} = []")
        else:
            self.line(f"{target} = {self.class_named(cls.struct_named(field.struct_name))}()")

    def _tagged_section(self, cls: StructType, tagged: list[Field], variable: str) -> None:
        count = self.local(f"tags{self._depth}")
        self._fixed("B", count)
        self._flush()
        with self.block(f"if {count}:"):
            if not tagged:
                self.line(f"pos = skip_tagged_fields(buf, pos, {count})")
                return
            self.line(f"if {count} > 127: {count}, pos = rest_of_varint(buf, pos, {count})")
            self.line(f"check_tag_count({count}, limit - pos)")
            with self.block(f"for _ in range({count}):"):
                self._varint("tag")
                self._varint("size")
                branch = "if"
                for field in tagged:
                    with self.block(f"{branch} tag == {field.tag}:"):
                        self._field(cls, field, f"{variable}.{field.name}")
                        self._flush()
                    branch = "elif"
                for field in cls.FIELDS:
                    if field.tag is not None and not self.has(field):
                        name = f"{cls.__name__}.{field.name}"
                        self.line(f"elif tag == {field.tag}: bad_tag({name!r}, tag, {self.error_version})")
                with self.block("else:"):
                    self.line('if size > limit - pos: bad_length("a tagged field", size, limit - pos)')
                    self.line("pos += size")

    # --- fields

    def _field(self, cls: StructType, field: Field, target: str) -> None:
        name = f"{cls.__name__}.{field.name}"
        if field.type in FORMAT:
            self._fixed(FORMAT[field.type], target)
        elif field.element_type:
            self._array(cls, field, target, name)
        elif field.struct_name:
            self._nested(cls.struct_named(field.struct_name), self.may_be_null(field), target)
        else:
            self._sized(field.type, self.may_be_null(field), target, name)

    def _nested(self, cls: StructType, nullable: bool, target: str) -> None:
        self._depth += 1
        variable = f"o{self._depth}"
        if nullable:
            self._fixed("b", self.local("present"))
            self._flush()
            with self.block("if present < 0:"):
                self.line(f"{target} = None")
            with self.block("else:"):
                self._new_struct(cls, variable)
                self.line(f"{target} = {variable}")
        else:
            self._new_struct(cls, variable)
            self.line(f"{target} = {variable}")
        self._depth -= 1

    def _sized(self, type: str, nullable: bool, target: str, name: str) -> None:
        """Read a string, bytes or records: a length, then the content."""
        self._length("h" if type == "string" else "i")
        if type == "records" and self._windowed:
            value = "view[base:base + n]"
        elif type == "string":
            value = "text_of(buf[pos:end])" if self.typed else 'text(buf[pos:end], "utf-8", JAVA_UTF8)'
        else:
            value = "view[pos:end]" if type == "records" else "bytes(buf[pos:end])"
        if nullable:
            with self.block("if n < 0:"):
                self.line(f"{target} = None")
            with self.block("else:"):
                self._sized_value(target, value, name)
        else:
            self._sized_value(target, value, name)

    def _sized_value(self, target: str, value: str, name: str) -> None:
        if value.startswith("view[base"):
            self.line(f"if not 0 <= n <= rest - pos: bad_length({name!r}, n, rest - pos)")
            self.line("base += pos")
            self.line(f"{target} = {value}")
            self.line("base += n")
            self._move_window()
            return
        self.line(f"{self.local('end')} = pos + n")
        self.line(f"if not pos <= end <= limit: bad_length({name!r}, n, limit - pos)")
        self.line(f"{target} = {value}")
        self.line("pos = end")

    def _array(self, cls: StructType, field: Field, target: str, name: str) -> None:
        self._length("i")
        minimum = self.minimum_size(cls, field.element_type)
        size = "n" if minimum == 1 else f"n * {minimum}"
        check = f"if not 0 <= {size} <= {self._rest} - pos: bad_count({name!r}, n, {self._rest} - pos)"
        if self.may_be_null(field):
            with self.block("if n < 0:"):
                self.line(f"{target} = None")
            with self.block("else:"):
                self.line(check)
                self._elements(cls, field.element_type, target, name)
        else:
            self.line(check)
            self._elements(cls, field.element_type, target, name)

    def _elements(self, cls: StructType, type: str, target: str, name: str) -> None:
        if type in FORMAT:
            code = FORMAT[type]
            small = self.named(f"unpack_small_{code}", wire.small_unpackers(code), f'small_unpackers("{code}")')
            few = f"list({small}[n](buf, pos)) if n < {wire.SMALL}"
            self.line(f"{target} = {few} else read_numbers('{code}', buf, pos, n)")
            self.line(f"pos += n * {SIZE[type]}")
            return
        self._depth += 1
        array = self.local(f"a{self._depth}", "list[Any]")
        self.line(f"{array} = []")
        self.line(f"{target} = {array}")
        count = self.local(f"n{self._depth}")
        self.line(f"{count} = n")
        with self.block(f"for _ in range({count}):"):
            if self._windowed:
                with self.block(f"if pos > {_WINDOW - _ELEMENT}:"):
                    self.line("base += pos")
                    self._move_window()
            if type[0].isupper():
                variable = f"o{self._depth}"
                self._new_struct(cls.struct_named(type), variable)
                self.line(f"{array}.append({variable})")
            else:
                self._sized(type, False, self.local("value", "Any"), f"an element of {name}")
                self.line(f"{array}.append(value)")
        self._depth -= 1


def _all_fields(cls: StructType) -> list[Field]:
    fields = list(cls.FIELDS)
    for field in cls.FIELDS:
        if field.struct_name:
            fields += _all_fields(cls.struct_named(field.struct_name))
    return fields
