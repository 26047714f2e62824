"""Helpers of transforms: checks of data, copies of schemas, and the setting for defaults."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.common.config_def import Importance
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.java_names import java_class_name
from kafkapy.connect.data.schema import Field, Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import ConnectRecord, SinkRecord

SCHEMAS_KEPT: Final = 16
"""Number of schemas that a transform caches, with their transformed schemas."""
USE_DEFAULTS: Final = "replace.null.with.default"


def define_use_defaults(definitions: ConfigDef) -> ConfigDef:
    """Add the setting `replace.null.with.default`; returns the definitions."""
    return definitions.define(
        USE_DEFAULTS,
        ConfigType.BOOLEAN,
        True,
        importance=Importance.MEDIUM,
        doc="Whether the default of a field stands for a null.",
    )


def require_map(value: Any, purpose: str) -> dict[str, Any]:
    """Return a value that must be a map. Raises DataException.

    Args:
        value: Has no schema.
        purpose: For the message.
    """
    if not isinstance(value, dict):
        raise DataException(
            f"Only Map objects supported in absence of schema for [{purpose}], found: {java_class_name(value)}"
        )
    return value


def require_struct(value: Any, purpose: str) -> Struct:
    """Return a value that must be a struct. Raises DataException.

    Args:
        value: Has a schema.
        purpose: For the message.
    """
    if not isinstance(value, Struct):
        raise DataException(f"Only Struct objects supported for [{purpose}], found: {java_class_name(value)}")
    return value


def require_sink_record(record: ConnectRecord, purpose: str) -> SinkRecord:
    """Return a record that must be a sink's. Raises DataException.

    Args:
        record: Any.
        purpose: For the message.
    """
    if not isinstance(record, SinkRecord):
        name = "org.apache.kafka.connect.source.SourceRecord"
        raise DataException(f"Only SinkRecord supported for [{purpose}], found: {name}")
    return record


def copied_basics(source: Schema, builder: SchemaBuilder | None = None) -> SchemaBuilder:
    """Return a builder with a schema's name, version, doc and parameters.

    Args:
        source: The schema.
        builder: Takes them. Default: a new one of the same type and elements.
    """
    if builder is None:
        items = source.value_schema if source.type is Type.ARRAY else None
        builder = SchemaBuilder(source.type, None, items)
    return builder.name(source.name).version(source.version).doc(source.doc).parameters(source.parameters or {})


def known_field(schema: Schema, name: str) -> Field:
    """Return the field of a struct's schema. Raises DataException if it has none of this name.

    Args:
        schema: The schema.
        name: The field's.
    """
    field = schema.field(name)
    if field is None:
        raise DataException(f"{name} is not a valid field name")
    return field


def field_value(struct: Struct, field: Field, use_defaults: bool) -> Any:
    """Return a field's value.

    Args:
        struct: Has the field.
        field: The field.
        use_defaults: The default stands for None.
    """
    return struct.get(field.name) if use_defaults else struct.get_without_default(field.name)
