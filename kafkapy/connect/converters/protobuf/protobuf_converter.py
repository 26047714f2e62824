"""Protobuf with a schema registry (`io.confluent.connect.protobuf.ProtobufConverter`)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.converters.protobuf.protobuf_options import WRAPPER_FILE, WRAPPERS, ProtobufOptions
from kafkapy.connect.converters.registry.registry_configs import Row
from kafkapy.connect.converters.registry.registry_converter import Read, RegistryConverter, Target, Write
from kafkapy.connect.data.schema import Schema
from kafkapy.connect.data.schema_and_value import SchemaAndValue
from kafkapy.connect.errors import ConnectException, DataException
from kafkapy.schemas import wire_format
from kafkapy.schemas.types import PROTOBUF
from kafkapy.schemas.types import Schema as RegistrySchema

if TYPE_CHECKING:
    from kafkapy.connect.converters.protobuf.proto_values import ProtoValues

T = TypeVar("T")
_BOOLEAN: Final = ConfigType.BOOLEAN
_ROWS: Final[tuple[Row, ...]] = (
    ("enhanced.protobuf.schema.support", _BOOLEAN, False, "Whether names of schemas have their package."),
    ("generalized.sum.type.support", _BOOLEAN, False, "Whether enums and unions have the same form in all formats."),
    ("scrub.invalid.names", _BOOLEAN, False, "Whether characters that Protobuf does not allow are replaced by _."),
    ("int.for.enums", _BOOLEAN, False, "Whether enums are integers, and not text."),
    ("optional.for.nullables", _BOOLEAN, False, "Whether fields that may be None are marked as optional."),
    ("optional.for.proto2", _BOOLEAN, True, "Whether optional fields of proto2 that are not set are None."),
    ("wrapper.for.nullables", _BOOLEAN, False, "Whether fields that may be None are messages that wrap a value."),
    ("wrapper.for.raw.primitives", _BOOLEAN, True, "Whether a message that wraps a value is that value."),
    ("generate.struct.for.nulls", _BOOLEAN, False, "Whether messages that are not set are structs with defaults."),
    ("generate.index.for.unions", _BOOLEAN, True, "Whether the index of a oneof is part of its field's name."),
    ("flatten.unions", _BOOLEAN, False, "Whether members of a oneof are fields of the struct itself."),
    ("ignore.default.for.nullables", _BOOLEAN, False, "Whether null is written for null, and not the default."),
)


class ProtobufConverter(RegistryConverter):
    """Reads and writes Protobuf; each schema of Connect is registered as a file of proto3. Needs `kafkapy[schemas]`.

    Settings: `schema.registry.url` (required), those of the page on Connect's data, and the credentials of the registry.

    Raises:
        ConnectException: The package protobuf is not installed.

    Example:
        >>> from kafkapy.connect.data.schema import STRING_SCHEMA
        >>> converter = ProtobufConverter()
        >>> converter.configure({"schema.registry.url": "http://localhost:8081"})
        >>> converter.target(STRING_SCHEMA).record_name
        'google.protobuf.StringValue'
    """

    java_class = "io.confluent.connect.protobuf.ProtobufConverter"
    format_name, registry_type = "Protobuf", PROTOBUF
    rows = _ROWS

    def set_options(self, parsed: Mapping[str, Any]) -> None:
        self._options = ProtobufOptions.of(parsed)
        self._values: ProtoValues = _with_packages(self._new_values)

    def _new_values(self) -> ProtoValues:
        from kafkapy.connect.converters.protobuf.proto_values import ProtoValues

        return ProtoValues(self._options)

    def writes_none(self, schema: Schema | None) -> bool:
        return False

    def target(self, schema: Schema | None) -> Target:
        if schema is None:
            raise DataException("Values without a schema cannot be written as Protobuf; use JsonConverter")
        return _with_packages(lambda: self._target(schema))

    def _target(self, schema: Schema) -> Target:
        from kafkapy.connect.converters.protobuf.proto_from_connect import ProtoFileMaker
        from kafkapy.schemas.known_protos import known_file

        if schema.type in WRAPPERS:
            file, name = known_file(WRAPPER_FILE), WRAPPERS[schema.type]
        else:
            file, name = ProtoFileMaker(self._options).convert(schema)
        return Target(RegistrySchema(base64.b64encode(file.SerializeToString()).decode(), PROTOBUF), name)

    def writer(self, schema: Schema | None, written_with: RegistrySchema, own: bool) -> Write:
        from google.protobuf import message_factory

        from kafkapy.schemas.protobuf import indexes_of, load, message_at

        assert schema is not None
        name = self._targets.get(schema, self.target).record_name or ""
        file = load(self.registry, written_with)
        found = file.pool.FindMessageTypeByName(name) if _has_message(file, name) else message_at(file, [0])
        make, prefix = message_factory.GetMessageClass(found), wire_format.write_indexes(indexes_of(found))

        def write(value: Any) -> bytes:
            message = make()
            self._values.fill(message, schema, value)
            return prefix + bytes(message.SerializeToString(deterministic=True))

        return write

    def reader(self, written_with: RegistrySchema, version: int | None) -> Read:
        from google.protobuf import message_factory
        from google.protobuf.message import DecodeError

        from kafkapy.connect.converters.protobuf.proto_to_connect import ProtoSchemaReader
        from kafkapy.schemas.protobuf import load, message_at

        file = _with_packages(lambda: load(self.registry, written_with))
        known: dict[tuple[int, ...], tuple[Any, Schema]] = {}

        def read(data: bytes) -> SchemaAndValue:
            indexes, payload = wire_format.read_indexes(memoryview(data))
            found = known.get(tuple(indexes))
            if found is None:
                descriptor = message_at(file, indexes)
                schema = ProtoSchemaReader(self._options).convert(descriptor, version)
                found = known[tuple(indexes)] = (message_factory.GetMessageClass(descriptor), schema)
            message = found[0]()
            try:
                message.ParseFromString(bytes(payload))
            except DecodeError as error:
                raise DataException(f"The bytes are no message {message.DESCRIPTOR.full_name}: {error}") from error
            return SchemaAndValue(found[1], self._values.value(found[1], message))

        return read

    def _fetched(self, schema_id: int | str) -> RegistrySchema:
        if isinstance(schema_id, str):
            return self.registry.get_schema_by_guid(schema_id, "serialized")
        return self.registry.get_schema(schema_id, fmt="serialized")

    def in_own_form(self, schema_id: int, found: RegistrySchema) -> RegistrySchema:
        return self._fetched(schema_id)


def _has_message(file: Any, name: str) -> bool:
    try:
        return bool(file.pool.FindMessageTypeByName(name).file.name == file.name)
    except KeyError:
        return False


def _with_packages(make: Callable[[], T]) -> T:
    try:
        return make()
    except ModuleNotFoundError as error:
        raise ConnectException(
            f'ProtobufConverter needs {error.name}, which is not installed: pip install "kafkapy[schemas]"'
        ) from error
