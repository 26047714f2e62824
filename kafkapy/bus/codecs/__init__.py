"""Converts events to the bytes of records and back, one module for each kind of schema. Libraries are imported on
first use."""

from __future__ import annotations

from importlib import import_module
from typing import Any, NamedTuple

from kafkapy.bus.errors import NotAnEventError
from kafkapy.bus.event_types import EventType, event_type_of
from kafkapy.schemas.registry_client import SchemaRegistryClient
from kafkapy.serializer import Deserializer, Serializer, for_client

_MODULES = {"AVRO": "avro", "JSON": "json_schema", "PROTOBUF": "protobuf", "THRIFT": "thrift"}


class Codec(NamedTuple):
    """Serializes and deserializes events of a class.

    Both methods raise `LookUpFirst` if they must query the registry and may not wait; otherwise SerdeErrors and
    errors of the registry.
    """

    serializer: Serializer[Any]
    deserializer: Deserializer[Any]


def codec_of(cls: type[Any], registry: SchemaRegistryClient, *, auto_register: bool, waits: bool) -> Codec:
    """The codec of a class. Raises NotAnEventError, MissingExtra (a library is not installed)."""
    event_type = event_type_of(cls)
    module = _MODULES.get(event_type.schema.schema_type)
    if module is None:
        raise NotAnEventError(f"{event_type.schema.schema_type} is no type of schema: {', '.join(_MODULES)} are")
    make: Any = import_module(f"kafkapy.bus.codecs.{module}").make
    options = {
        "auto_register_schemas": auto_register,
        "subject_name_strategy": lambda topic, is_key, record_name: event_type.subject,
    }
    serializer, deserializer = make(cls, event_type, registry, options)
    return Codec(for_client(serializer, is_key=False, waits=waits), for_client(deserializer, is_key=False, waits=waits))


__all__ = ["Codec", "EventType", "codec_of"]
