"""Events in Protobuf, by a message class that is generated from the descriptor in the event class."""

from __future__ import annotations

from datetime import UTC
from typing import Any

from kafkapy.bus.errors import NotAnEventError, UnreadableEventError
from kafkapy.bus.event_types import EventType
from kafkapy.bus.plain_values import Convert, from_plain, to_plain
from kafkapy.schemas import wire_format
from kafkapy.schemas.protobuf import ProtobufDeserializer, indexes_of
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.schemas.serde import SchemaSerializer
from kafkapy.schemas.types import Schema
from kafkapy.schemas.wire_format import Written
from kafkapy.serializer import Deserializer, Serializer

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory  # isort: skip
from google.protobuf.descriptor import FieldDescriptor  # isort: skip
from google.protobuf.message import Message  # isort: skip

_TIMESTAMP, _DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"


def make(
    cls: type[Any], event_type: EventType, registry: SchemaRegistryClient, options: dict[str, Any]
) -> tuple[Serializer[Any], Deserializer[Any]]:
    message_type = message_class(event_type)
    return (
        EventProtobufSerializer(registry, event_type.schema, message_type, to_plain(cls), options),
        EventProtobufDeserializer(registry, message_type, from_plain(cls)),
    )


def message_class(event_type: EventType) -> type[Message]:
    """The message class. Raises NotAnEventError if the event class has no descriptor, or the descriptor has no such
    message."""
    if event_type.descriptor is None:
        raise NotAnEventError(f"The event class of {event_type.name} has no compiled Protobuf file: build it anew")
    files = descriptor_pb2.FileDescriptorSet.FromString(event_type.descriptor)
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    try:
        found: type[Message] = message_factory.GetMessageClass(pool.FindMessageTypeByName(event_type.name))
    except KeyError:
        raise NotAnEventError(f"The Protobuf file of {event_type.name} has no message of that name") from None
    return found


class EventProtobufSerializer(SchemaSerializer[bytes, Any]):
    """Serializes events with the schema text as it was published."""

    def __init__(
        self,
        registry: SchemaRegistryClient,
        schema: Schema,
        message_type: type[Message],
        plain: Convert,
        options: dict[str, Any],
    ) -> None:
        super().__init__(registry, schema, **options)
        self._message_type = message_type
        self._plain = plain
        self._indexes = wire_format.write_indexes(indexes_of(message_type.DESCRIPTOR))

    @property
    def _record_name(self) -> str | None:
        name: str = self._message_type.DESCRIPTOR.full_name
        return name

    def _parse(self, schema: Schema) -> bytes:
        return self._indexes

    def _write(self, parsed: bytes, data: Any) -> bytes:
        message = self._message_type()
        fill(message, self._plain(data))
        content: bytes = message.SerializeToString(deterministic=True)
        return parsed + content


class EventProtobufDeserializer(ProtobufDeserializer):
    """Deserializes messages; fields that the class does not have are ignored, as in Protobuf."""

    def __init__(self, registry: SchemaRegistryClient, message_type: type[Message], read: Convert) -> None:
        super().__init__(registry, message_type)
        self._from_plain = read

    def _read(self, writer: Any, written: Written) -> Any:
        return self._from_plain(plain_of(super()._read(writer, written)))


def fill(message: Any, value: dict[str, Any]) -> None:
    """Set the fields of a message from a dictionary; None: not set."""
    for field in message.DESCRIPTOR.fields:
        given = value.get(field.name)
        if given is None:
            continue
        target = getattr(message, field.name)
        if _is_map(field):
            entry = field.message_type.fields_by_name["value"]
            for key, each in given.items():
                if entry.message_type is None:
                    target[key] = _scalar(entry, each)
                else:
                    _fill_one(entry, target[key], each)
        elif field.is_repeated:
            for each in given:
                if field.message_type is None:
                    target.append(_scalar(field, each))
                else:
                    _fill_one(field, target.add(), each)
        elif field.message_type is None:
            setattr(message, field.name, _scalar(field, given))
        else:
            target.SetInParent()
            _fill_one(field, target, given)


def _fill_one(field: FieldDescriptor, target: Any, value: Any) -> None:
    name = field.message_type.full_name
    if name == _TIMESTAMP:
        target.FromDatetime(value)
    elif name == _DURATION:
        target.FromTimedelta(value)
    else:
        fill(target, value)


def _scalar(field: FieldDescriptor, value: Any) -> Any:
    if field.enum_type is None or isinstance(value, int):
        return value
    found = field.enum_type.values_by_name.get(value)
    if found is None:
        raise NotAnEventError(f"The enum {field.enum_type.full_name} has no {value!r}")
    return found.number


def plain_of(message: Any) -> dict[str, Any]:
    """A message as a dictionary; fields with presence are omitted if they are not set."""
    found: dict[str, Any] = {}
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        if _is_map(field):
            entry = field.message_type.fields_by_name["value"]
            found[field.name] = {key: _plain_one(entry, value[key]) for key in value}
        elif field.is_repeated:
            found[field.name] = [_plain_one(field, each) for each in value]
        elif not field.has_presence or message.HasField(field.name):
            found[field.name] = _plain_one(field, value)
    return found


def _plain_one(field: FieldDescriptor, value: Any) -> Any:
    if field.message_type is not None:
        name = field.message_type.full_name
        if name == _TIMESTAMP:
            return value.ToDatetime(tzinfo=UTC)
        return value.ToTimedelta() if name == _DURATION else plain_of(value)
    if field.enum_type is not None:
        known = field.enum_type.values_by_number.get(value)
        if known is None:
            raise UnreadableEventError(f"The enum {field.enum_type.full_name} has no {value} here")
        return known.name
    return value


def _is_map(field: FieldDescriptor) -> bool:
    return bool(field.is_repeated and field.message_type is not None and field.message_type.GetOptions().map_entry)
