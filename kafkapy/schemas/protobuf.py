"""Protobuf in the registry's wire format; google.protobuf reads and writes the messages."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, overload

from kafkapy.common.extras import need
from kafkapy.schemas import wire_format
from kafkapy.schemas.errors import SchemaDeserializationError, SchemaSerializationError
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.serde import SchemaDeserializer, SchemaSerializer, with_references
from kafkapy.schemas.types import PROTOBUF, Schema, SchemaReference
from kafkapy.serializer import Headers

need("protobuf", "google.protobuf", by="Protobuf")

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # noqa: E402
from google.protobuf.descriptor import Descriptor, FileDescriptor  # noqa: E402
from google.protobuf.message import Message  # noqa: E402

from kafkapy.schemas.known_protos import KNOWN_FOLDERS, known_file  # noqa: E402

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    M_co = TypeVar("M_co", bound=Message, covariant=True, default=Message)
    M_contra = TypeVar("M_contra", bound=Message, contravariant=True, default=Message)
else:  # as in kafkapy.serializer
    from typing import TypeVar

    M_co = TypeVar("M_co", covariant=True)
    M_contra = TypeVar("M_contra", contravariant=True)

ReferenceSubjectNameStrategy = Callable[[str, bool, str], str]
"""Topic, is it the key, name of an imported file -> the subject that the file is registered under."""


def reference_subject_name_strategy(topic: str, is_key: bool, file_name: str) -> str:
    """Return the file's name as the subject."""
    return file_name


class ProtobufSerializer(SchemaSerializer[bytes, M_contra]):
    """`ProtobufSerializer(registry, message_type)`: messages of a generated class to Protobuf.

    Files that its file imports are registered first, under the subjects that `reference_subject_name_strategy` gives; those
    that come with Protobuf are not (`skip_known_types`). The other options are those of `SchemaSerializer`.

    Args:
        registry: The client of the schema registry.
        message_type: The generated class.
        options: Options of `kafkapy.schemas.serde.SchemaSerializer`.

    Example:
        >>> from google.protobuf.wrappers_pb2 import StringValue
        >>> from kafkapy.schemas import SchemaRegistryClient
        >>> registry = SchemaRegistryClient("http://localhost:8081")
        >>> ProtobufSerializer(registry, StringValue).serialize("clicks", [], None) is None
        True
    """

    def __init__(
        self,
        registry: SchemaRegistryClient,
        message_type: type[M_contra],
        *,
        reference_subject_name_strategy: ReferenceSubjectNameStrategy = reference_subject_name_strategy,
        skip_known_types: bool = True,
        **options: Any,
    ) -> None:
        self._descriptor: Descriptor = message_type.DESCRIPTOR
        super().__init__(registry, Schema(schema_text(self._descriptor.file), PROTOBUF), **options)
        self._message_type = message_type
        self._indexes = wire_format.write_indexes(indexes_of(self._descriptor))
        self._reference_subject = reference_subject_name_strategy
        self._skip_known = skip_known_types

    def serialize(self, topic: str, headers: Headers, data: M_contra | None) -> bytes | None:
        """As `SchemaSerializer.serialize`.

        Args:
            topic: Name of the topic, part of the subject's name.
            headers: Headers of the record.
            data: The message; None stays None.
        """
        if data is not None and not isinstance(data, self._message_type):
            wanted = self._descriptor.full_name
            raise SchemaSerializationError(
                f"This serializer takes messages of {wanted}; this is a {type(data).__name__}"
            )
        return super().serialize(topic, headers, data)

    @property
    def _record_name(self) -> str | None:
        name: str = self._descriptor.full_name
        return name

    def _own_schema(self, topic: str) -> Schema:
        return self._with_references(topic, self._descriptor.file)

    def _with_references(self, topic: str, file: FileDescriptor) -> Schema:
        """A file's schema; what it imports is registered, or looked up, before."""
        references = []
        for used in file.dependencies:
            if not (self._skip_known and used.name.startswith(KNOWN_FOLDERS)):
                schema = self._with_references(topic, used)
                subject = self._reference_subject(topic, self._is_key, used.name)
                if self._auto_register:
                    self.registry.register_schema(subject, schema, self._normalize)
                version = self.registry.lookup_schema(subject, schema, self._normalize).version
                references.append(SchemaReference(used.name, subject, version))
        return Schema(schema_text(file), PROTOBUF, tuple(references))

    def _parse(self, schema: Schema) -> bytes:
        """What stands before the message. A schema that is not the user's own must be one of the same messages."""
        return self._indexes

    def _write(self, parsed: bytes, data: M_contra) -> bytes:
        content: bytes = data.SerializeToString()
        return parsed + content


class ProtobufDeserializer(SchemaDeserializer[Any, M_co]):
    """`ProtobufDeserializer(registry, message_type)`: Protobuf to messages of a generated class.

    Protobuf itself reads messages of other versions of the file, so the registry isn't needed. Without `message_type`,
    values become messages of a class built from their writer's schema, which the registry returns.

    Args:
        registry: The client of the schema registry.
        is_key: Whether keys are converted. Default False: values.

    Example:
        >>> from kafkapy.schemas import SchemaRegistryClient
        >>> ProtobufDeserializer(SchemaRegistryClient("http://localhost:8081")).deserialize("clicks", [], None) is None
        True
    """

    @overload
    def __init__(self, registry: SchemaRegistryClient, message_type: type[M_co], *, is_key: bool = False) -> None: ...

    @overload
    def __init__(
        self: ProtobufDeserializer[Message],
        registry: SchemaRegistryClient,
        message_type: None = None,
        *,
        is_key: bool = False,
    ) -> None: ...

    def __init__(
        self, registry: SchemaRegistryClient, message_type: type[M_co] | None = None, *, is_key: bool = False
    ) -> None:
        super().__init__(registry, is_key=is_key)
        self._message_type = message_type

    def writer(self, schema: int | str) -> Any:
        """The file; None if there is a class for all.

        Args:
            schema: Id or GUID of the schema.
        """
        return None if self._message_type is not None else super().writer(schema)

    def _fetch(self, schema: int | str) -> Schema:
        if isinstance(schema, str):
            return self.registry.get_schema_by_guid(schema, "serialized")
        return self.registry.get_schema(schema, fmt="serialized")

    def _parse(self, schema: Schema) -> FileDescriptor:
        return load(self.registry, schema)

    def _read(self, writer: FileDescriptor | None, written: wire_format.Written) -> M_co:
        indexes, payload = wire_format.read_indexes(written.payload)
        message_type: type[M_co] | None = self._message_type
        if message_type is None:
            assert writer is not None
            message_type = message_factory.GetMessageClass(message_at(writer, indexes))
        message: M_co = message_type()
        message.ParseFromString(bytes(payload))
        return message


def schema_text(file: FileDescriptor) -> str:
    """Return a file in the form for the registry: its descriptor in base64."""
    proto = descriptor_pb2.FileDescriptorProto()
    file.CopyToProto(proto)
    return base64.b64encode(proto.SerializeToString()).decode()


def load(registry: SchemaRegistryClient, schema: Schema) -> FileDescriptor:
    """The file that a schema in base64 is, with what it imports. Raises ValueError, TypeError, and what the registry raises."""
    pool = descriptor_pool.DescriptorPool()
    loaded: set[str] = set()
    for name, used in with_references(registry, schema, "serialized").items():
        proto = _decoded(used)
        proto.name = name
        _add(pool, proto, loaded)
    proto = _decoded(schema)
    if not proto.name or proto.name in loaded:
        proto.name = "default"
    _add(pool, proto, loaded)
    return pool.FindFileByName(proto.name)


def _decoded(schema: Schema) -> descriptor_pb2.FileDescriptorProto:
    return descriptor_pb2.FileDescriptorProto.FromString(base64.b64decode(schema.schema_str, validate=True))


def _add(pool: descriptor_pool.DescriptorPool, proto: descriptor_pb2.FileDescriptorProto, loaded: set[str]) -> None:
    for used in proto.dependency:
        if used.startswith(KNOWN_FOLDERS) and used not in loaded:
            _add_known(pool, used, loaded)
    pool.Add(proto)
    loaded.add(proto.name)


def _add_known(pool: descriptor_pool.DescriptorPool, name: str, loaded: set[str]) -> None:
    """A file that needs no reference. Raises KeyError, ImportError if it is not there."""
    _add(pool, known_file(name), loaded)


def indexes_of(message: Descriptor) -> list[int]:
    """Return the message's index on each level, from the top."""
    parent = message.containing_type
    if parent is None:
        return [list(message.file.message_types_by_name.values()).index(message)]
    return [*indexes_of(parent), [nested.name for nested in parent.nested_types].index(message.name)]


def message_at(file: FileDescriptor, indexes: list[int]) -> Descriptor:
    """Return the message type with these indexes. Raises SchemaDeserializationError."""
    found: Descriptor | None = None
    level = list(file.message_types_by_name.values())
    for index in indexes:
        if index >= len(level):
            raise SchemaDeserializationError(f"{file.name} has no message with the indexes {indexes}")
        found = level[index]
        level = list(found.nested_types)
    assert found is not None
    return found
