"""The language in which messages are written down.

A message is a class whose body is its schema:

    class HeartbeatResponse(Message, api=ApiKey.HEARTBEAT):
        throttle_time_ms: int = int32("1+", ignorable=True)
        error_code: int = int16()

The first argument of a field is the range of versions that have it (all, if left out). The words are those of Kafka's
message definitions (KIP-482):

- `nullable`: the versions in which the field may be None (True: all that have it);
- `ignorable`: encoding a version without the field drops its value silently; else only the default may be dropped;
- `tag`: the field goes into the tagged section, and only if it differs from the default. A tagged struct is None when
  it was not there;
- `default`: 0, "", b"", False, [] or a new struct where nothing else is said; None for records.

Nested structs are classes inside the message's class, all on one level, and fields name them: `array("PartitionData")`.
The declared fields become `__slots__`, and the constructor takes them by keyword or in order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias, dataclass_transform

from kafkapy.protocol.compiled_codecs import compiled_codec

Records: TypeAlias = Any
"""Record batches: a `memoryview` into the request or response when decoded, None if null; for encoding anything
bytes-like, or an object that has `len()` and sends itself (a slice of a log file).
"""


class Versions(NamedTuple):
    """A closed range of versions; empty if `highest < lowest`."""

    lowest: int
    highest: int

    @classmethod
    def parse(cls, text: str) -> Versions:
        """Parse "3", "1-4", "2+" and "none"."""
        if text == "none":
            return cls(0, -1)
        if text.endswith("+"):
            return cls(int(text[:-1]), 0x7FFF)
        lowest, _, highest = text.partition("-")
        return cls(int(lowest), int(highest or lowest))

    def includes(self, version: int) -> bool:
        return self.lowest <= version <= self.highest


class Field:
    """One field of a struct, as declared. `type` is Kafka's name of it: "int32", "[]string", "[]PartitionData"."""

    __slots__ = ("default", "ignorable", "name", "nullable", "tag", "type", "versions")

    def __init__(self, type: str, versions: str, nullable: bool | str, default: Any, tag: int | None, ignorable: bool):
        self.name = ""
        self.type = type
        self.versions = Versions.parse(versions)
        self.nullable = self.versions if nullable is True else Versions.parse(nullable or "none")
        self.default = default
        self.tag = tag
        self.ignorable = ignorable

    @property
    def element_type(self) -> str:
        """The type of an array's elements; "" if the field is not an array."""
        return self.type[2:] if self.type.startswith("[]") else ""

    @property
    def struct_name(self) -> str:
        """The name of the struct class of the field or its elements; "" if they are primitive."""
        name = self.element_type or self.type
        return name if name[0].isupper() else ""


class _New:
    """A default that is created for each struct: an empty list or a struct of defaults."""

    def __repr__(self) -> str:
        return "<new>"


NEW = _New()


def boolean(versions: str = "0+", *, default: bool = False, tag: int | None = None, ignorable: bool = False) -> Any:
    return Field("bool", versions, False, default, tag, ignorable)


def int8(versions: str = "0+", *, default: int = 0, tag: int | None = None, ignorable: bool = False) -> Any:
    return Field("int8", versions, False, default, tag, ignorable)


def int16(versions: str = "0+", *, default: int = 0, tag: int | None = None, ignorable: bool = False) -> Any:
    return Field("int16", versions, False, default, tag, ignorable)


def int32(versions: str = "0+", *, default: int = 0, tag: int | None = None, ignorable: bool = False) -> Any:
    return Field("int32", versions, False, default, tag, ignorable)


def int64(versions: str = "0+", *, default: int = 0, tag: int | None = None, ignorable: bool = False) -> Any:
    return Field("int64", versions, False, default, tag, ignorable)


def float64(versions: str = "0+", *, default: float = 0.0, tag: int | None = None, ignorable: bool = False) -> Any:
    return Field("float64", versions, False, default, tag, ignorable)


def uuid(versions: str = "0+", *, tag: int | None = None, ignorable: bool = False) -> Any:
    """16 `bytes`; all zero by default."""
    return Field("uuid", versions, False, bytes(16), tag, ignorable)


def string(
    versions: str = "0+",
    *,
    nullable: bool | str = False,
    default: str | None = "",
    tag: int | None = None,
    ignorable: bool = False,
) -> Any:
    """A `str`, at most 32767 bytes of UTF-8."""
    return Field("string", versions, nullable, default, tag, ignorable)


def binary(
    versions: str = "0+",
    *,
    nullable: bool | str = False,
    default: bytes | None = b"",
    tag: int | None = None,
    ignorable: bool = False,
) -> Any:
    """`bytes` (Kafka's type "bytes")."""
    return Field("bytes", versions, nullable, default, tag, ignorable)


def record_set(versions: str = "0+", *, nullable: bool | str = False, ignorable: bool = False) -> Any:
    """Record batches (Kafka's type "records"): see `Records`."""
    return Field("records", versions, nullable, None, None, ignorable)


def array(
    of: str,
    versions: str = "0+",
    *,
    nullable: bool | str = False,
    default: _New | None = NEW,
    tag: int | None = None,
    ignorable: bool = False,
) -> Any:
    """A list of primitives ("int32", "string", ...) or of structs, named by their class."""
    return Field("[]" + of, versions, nullable, default, tag, ignorable)


def struct(
    of: str,
    versions: str = "0+",
    *,
    nullable: bool | str = False,
    default: _New | None = NEW,
    tag: int | None = None,
    ignorable: bool = False,
) -> Any:
    """One struct, named by its class."""
    return Field(of, versions, nullable, default if tag is None else None, tag, ignorable)


@dataclass_transform(eq_default=True)
class StructType(type):
    """Turns the declared fields of a class into slots.

    `FIELDS` are the fields in order; `ROOT` is the message class that contains the struct (the class itself for a
    message), in which the names of structs are looked up.
    """

    FIELDS: tuple[Field, ...]
    ROOT: StructType

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> StructType:
        fields = {key: value for key, value in namespace.items() if isinstance(value, Field)}
        for key, field in fields.items():
            field.name = key
            del namespace[key]
        cls = super().__new__(mcls, name, bases, {**namespace, "__slots__": tuple(fields)}, **options)
        cls.FIELDS = tuple(fields.values())
        cls.ROOT = cls
        for value in namespace.values():
            if isinstance(value, StructType):
                value.ROOT = cls
        return cls

    def struct_named(cls, name: str) -> StructType:
        """Return the struct of this name in the same message."""
        found: StructType = getattr(cls.ROOT, name)
        return found

    def structs(cls) -> Iterator[StructType]:
        """Yield the message and its nested structs."""
        yield cls
        yield from (value for value in vars(cls).values() if isinstance(value, StructType) and value is not cls)

    @property
    def name_in_code(cls) -> str:
        """The name of the struct, unique among all messages: "FetchRequest_FetchTopic"."""
        return cls.__qualname__.replace(".", "_")

    @property
    def maker(cls) -> Callable[..., Any]:
        """A function that is equivalent to the constructor with positional arguments; several times faster where it is
        compiled.
        """
        made: Callable[..., Any] | None = compiled_codec(cls.__module__, f"make_{cls.name_in_code}")
        return made or compile_maker(cls)


class Struct(metaclass=StructType):
    """A struct of a message: attributes for the declared fields of all versions, whichever version it came in.

    Constructors and codecs are compiled when they are first used, so that importing a message costs little.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        cls = type(self)
        cls.__init__ = compile_constructor(cls)  # type: ignore[method-assign]
        cls.__init__(self, *args, **kwargs)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, field.name) == getattr(other, field.name) for field in type(self).FIELDS)

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: int | str) -> Any:
        """Return a field by its position in the schema, or by its name, as in kafka-python's rows."""
        return getattr(self, key if isinstance(key, str) else type(self).FIELDS[key].name)

    def __iter__(self) -> Iterator[Any]:
        return (getattr(self, field.name) for field in type(self).FIELDS)

    def __repr__(self) -> str:
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in type(self).FIELDS)
        return f"{type(self).__qualname__}({values})"


def compile_constructor(cls: StructType) -> Callable[..., None]:
    """Return `__init__` with one parameter for each field, in the schema's order."""
    constructor = _compile(cls, "__init__", f"def __init__(self, {_parameters(cls)}):\n{_stores(cls)}")
    constructor.__qualname__ = f"{cls.__qualname__}.__init__"
    return constructor


def compile_maker(cls: StructType) -> Callable[..., Any]:
    return _compile(cls, f"make_{cls.name_in_code}", maker_text(cls))


def maker_text(cls: StructType, typed: bool = False) -> str:
    """Return the source of `StructType.maker`."""
    head = f"def make_{cls.name_in_code}({_parameters(cls, ': Any' * typed)}){' -> Any' * typed}:"
    return f"{head}\n    self{': Any' * typed} = new(_{cls.name_in_code})\n{_stores(cls)}    return self\n"


def _parameters(cls: StructType, annotation: str = "") -> str:
    defaults = ("NEW" if field.default is NEW else repr(field.default) for field in cls.FIELDS)
    return ", ".join(
        f"{field.name}{annotation} = {default}" for field, default in zip(cls.FIELDS, defaults, strict=True)
    )


def _stores(cls: StructType) -> str:
    lines = []
    for field in cls.FIELDS:
        value = field.name
        if field.default is NEW:
            fresh = "[]" if field.element_type else f"_{cls.struct_named(field.struct_name).name_in_code}()"
            value = f"{fresh} if {field.name} is NEW else {field.name}"
        lines.append(f"    self.{field.name} = {value}\n")
    return "".join(lines) or "    pass\n"


def _compile(cls: StructType, name: str, text: str) -> Callable[..., Any]:
    names: dict[str, Any] = {f"_{struct.name_in_code}": struct for struct in cls.ROOT.structs()}
    names |= {"NEW": NEW, "new": object.__new__}
    exec(text, names)
    function: Callable[..., Any] = names[name]
    return function
