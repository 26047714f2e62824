"""Events in Thrift's binary protocol, by thriftpy2."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from kafkapy.bus.errors import NotAnEventError
from kafkapy.bus.event_types import EventType
from kafkapy.bus.plain_values import Convert, from_plain, to_plain
from kafkapy.registry.compatibility import SchemaParseError
from kafkapy.registry.formats.thrift_idl import ThriftType, struct_of
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.serde import SchemaDeserializer, SchemaSerializer
from kafkapy.schemas.types import Schema
from kafkapy.schemas.wire_format import Written
from kafkapy.serializer import Deserializer, Serializer


def make(
    cls: type[Any], event_type: EventType, registry: SchemaRegistryClient, options: dict[str, Any]
) -> tuple[Serializer[Any], Deserializer[Any]]:
    try:
        struct = struct_of(event_type.schema.schema_str, event_type.name)
    except SchemaParseError as error:
        raise NotAnEventError(str(error)) from error
    return (
        ThriftSerializer(registry, event_type.schema, struct, to_plain(cls), options),
        ThriftDeserializer(registry, struct, from_plain(cls)),
    )


class ThriftSerializer(SchemaSerializer[Any, Any]):
    """Serializes events as structs."""

    def __init__(
        self, registry: SchemaRegistryClient, schema: Schema, struct: Any, plain: Convert, options: dict[str, Any]
    ) -> None:
        super().__init__(registry, schema, **options)
        self._struct = struct
        self._plain = plain

    @property
    def _record_name(self) -> str | None:
        return str(self._struct.__name__)

    def _parse(self, schema: Schema) -> Any:
        return self._struct

    def _write(self, parsed: Any, data: Any) -> bytes:
        return write_struct(parsed, self._plain(data))


class ThriftDeserializer(SchemaDeserializer[Any, Any]):
    """Deserializes structs. The registry is not needed, since a struct contains its field ids; unknown fields are
    ignored."""

    def __init__(self, registry: SchemaRegistryClient, struct: Any, read: Convert) -> None:
        super().__init__(registry)
        self._struct = struct
        self._from_plain = read

    def writer(self, schema: int | str) -> Any:
        return self._struct

    def _parse(self, schema: Schema) -> Any:
        return self._struct

    def _read(self, writer: Any, written: Written) -> Any:
        return self._from_plain(read_struct(writer, bytes(written.payload)))


def write_struct(struct: Any, value: Mapping[str, Any]) -> bytes:
    """Convert a dictionary to a struct's bytes. Raises NotAnEventError if a required field is None."""
    protocol, utils = _library()
    written: bytes = utils.serialize(_to_struct(struct, value), protocol.TBinaryProtocolFactory())
    return written


def read_struct(struct: Any, data: bytes) -> dict[str, Any]:
    """The reverse; absent fields are omitted."""
    protocol, utils = _library()
    return _from_struct(utils.deserialize(struct(), data, protocol.TBinaryProtocolFactory()))


def _library() -> tuple[Any, Any]:
    return import_module("thriftpy2.protocol"), import_module("thriftpy2.utils")


def _to_struct(struct: Any, value: Mapping[str, Any]) -> Any:
    made = struct()
    for kind in ThriftType.fields_of(struct):
        given = value.get(kind.name)
        if given is None:
            if kind.required:
                raise NotAnEventError(f"The field {kind.name} of {struct.__name__} is required, and is None")
            setattr(made, kind.name, None)
        else:
            setattr(made, kind.name, _to_thrift(kind.type, given))
    return made


def _to_thrift(kind: ThriftType, value: Any) -> Any:
    if kind.struct is not None:
        return _to_struct(kind.struct, value)
    if kind.enum is not None:
        found = kind.enum._NAMES_TO_VALUES.get(value)
        if found is None:
            raise NotAnEventError(f"The enum {kind.enum.__name__} has no {value!r}")
        return found
    if kind.key is not None and kind.item is not None:
        key, item = kind.key, kind.item
        return {_to_thrift(key, each): _to_thrift(item, value[each]) for each in value}
    if kind.item is not None:
        return [_to_thrift(kind.item, each) for each in value]
    return value


def _from_struct(made: Any) -> dict[str, Any]:
    found = {}
    for kind in ThriftType.fields_of(type(made)):
        value = getattr(made, kind.name)
        if value is not None:
            found[kind.name] = _from_thrift(kind.type, value)
    return found


def _from_thrift(kind: ThriftType, value: Any) -> Any:
    if kind.struct is not None:
        return _from_struct(value)
    if kind.enum is not None:
        return kind.enum._VALUES_TO_NAMES.get(value, value)
    if kind.key is not None and kind.item is not None:
        key, item = kind.key, kind.item
        return {_from_thrift(key, each): _from_thrift(item, value[each]) for each in value}
    if kind.item is not None:
        return [_from_thrift(kind.item, each) for each in value]
    return value
