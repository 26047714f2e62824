"""Change events of Debezium: `before`, `after`, `source`, `op`; and references to their fields."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.records import ConnectRecord

_STRUCTS: Final = {
    "id": "transaction",
    "total_order": "transaction",
    "data_collection_order": "transaction",
    "op": None,
    "ts_ms": None,
    "ts_us": None,
    "ts_ns": None,
}


def is_envelope(record: ConnectRecord) -> bool:
    """Return whether a record's value is a change event.

    Args:
        record: Any.
    """
    schema = record.value_schema
    return schema is not None and schema.name is not None and schema.name.endswith(".Envelope")


@dataclass(frozen=True)
class FieldReference:
    """A field of a change event that is added to the row or to the headers.

    Attributes:
        struct: Field of the event in which it is. None: it is the event's own.
        name: The field's.
        target: Name of the new field or header.

    Example:
        >>> FieldReference.of("source.ts_ms", "__").target, FieldReference.of("op:kind", "").target
        ('__source_ts_ms', 'kind')
    """

    struct: str | None
    name: str
    target: str

    @classmethod
    def of(cls, text: str, prefix: str) -> FieldReference:
        """Read `field`, `struct.field` or `field:new name`.

        Args:
            text: As in the settings.
            prefix: Of the new name.

        Raises:
            ConfigException: The text is none of these.
        """
        path, *renamed = text.strip().split(":")
        steps = path.split(".")
        if len(renamed) > 1 or len(steps) > 2 or not all(steps):
            raise ConfigException(f"Unexpected field name: {text}; write field, struct.field or field:new_name")
        name = steps[-1]
        struct = steps[0] if len(steps) == 2 else _STRUCTS.get(name, "source")
        target = renamed[0] if renamed else (f"{struct}_{name}" if len(steps) == 2 else name)
        return cls(struct, name, prefix + target)

    def schema(self, event: Schema) -> Schema | None:
        """Return the new field's schema, which is optional; None if the event has no such field.

        Args:
            event: The event's.
        """
        parent = event
        if self.struct is not None:
            field = event.field(self.struct)
            if field is None:
                return None
            parent = field.schema
        found = parent.field(self.name) or event.field(self.name)
        return None if found is None else as_optional(found.schema)

    def value(self, event: Struct) -> Any:
        """Return the field's value; None if it has none.

        Args:
            event: The event.
        """
        parent = event if self.struct is None else event.get_without_default(self.struct)
        if parent is None:
            return None
        holder = parent if parent.schema.field(self.name) is not None else event
        return holder.get_without_default(self.name)


def as_optional(schema: Schema) -> Schema:
    """Return a schema with the same name, version, doc and parameters that allows None, without a default."""
    keys = schema.key_schema if schema.type is Type.MAP else None
    values = schema.value_schema if schema.type in (Type.MAP, Type.ARRAY) else None
    fields = schema.fields if schema.type is Type.STRUCT else ()
    about = (schema.name, schema.version, schema.doc, schema.parameters)
    return Schema(schema.type, True, None, *about, fields, keys, values)
