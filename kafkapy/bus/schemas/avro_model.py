"""Avro's schemas as a model."""

from __future__ import annotations

import json
import math
from typing import Any

from kafkapy.bus.schemas.model import EventModel, ModelEnum, ModelField, ModelRecord, union_of
from kafkapy.bus.schemas.repository import RepositoryError
from kafkapy.schemas.avro_text import json_of

_SCALARS = {
    "null": "None",
    "boolean": "bool",
    "int": "int",
    "long": "int",
    "float": "float",
    "double": "float",
    "bytes": "bytes",
    "string": "str",
}
_LOGICAL = {
    "timestamp-millis": "datetime",
    "timestamp-micros": "datetime",
    "local-timestamp-millis": "datetime",
    "local-timestamp-micros": "datetime",
    "date": "date",
    "time-millis": "time",
    "time-micros": "time",
    "decimal": "Decimal",
    "uuid": "UUID",
}


def read(text: str, name: str | None) -> EventModel:
    """The model of an Avro schema. Raises RepositoryError."""
    try:
        schema = json_of(text)
    except ValueError as error:
        raise RepositoryError(f"This is no Avro schema: it is no JSON: {error}") from None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise RepositoryError("An event's Avro schema must be a record")
    reader = _AvroReader()
    root = reader.record(schema, "")
    if name is not None and root.schema_name != name:
        raise RepositoryError(f"The record is called {root.schema_name}, and must be called {name} as its folder")
    return EventModel(root, tuple(reader.records), tuple(reader.enums.values()))


def schema_type(schema: Any) -> str:
    """A type as text for readers: `long (timestamp-millis)`, `null | array of string`."""
    if isinstance(schema, list):
        return " | ".join(map(schema_type, schema))
    if isinstance(schema, str):
        return schema
    kind = schema.get("type")
    if kind in ("array", "map"):
        return f"{kind} of {schema_type(schema['items' if kind == 'array' else 'values'])}"
    if kind in ("record", "enum", "fixed"):
        return str(schema.get("name"))
    plain = schema_type(kind)
    return f"{plain} ({schema['logicalType']})" if "logicalType" in schema else plain


class _AvroReader:
    def __init__(self) -> None:
        self.records: list[ModelRecord] = []
        self.enums: dict[str, ModelEnum] = {}
        self._classes: dict[str, str] = {}
        """Full name -> class."""

    def record(self, schema: dict[str, Any], space: str) -> ModelRecord:
        full, space = self._declare(schema, space)
        fields = tuple(self._field(field, space) for field in schema.get("fields", ()))
        record = ModelRecord(self._classes[full], full, fields, str(schema.get("doc") or ""))
        self.records.append(record)
        return record

    def _declare(self, schema: dict[str, Any], space: str) -> tuple[str, str]:
        name = str(schema.get("name") or "")
        if not name:
            raise RepositoryError("A record, enum or fixed of the Avro schema has no name")
        full = name if "." in name else ".".join(filter(None, (schema.get("namespace", space), name)))
        short = full.rpartition(".")[2]
        taken = set(self._classes.values())
        self._classes[full] = short if short not in taken else full.replace(".", "_")
        return full, full.rpartition(".")[0]

    def _field(self, field: dict[str, Any], space: str) -> ModelField:
        kind = self.type(field["type"], space)
        default = None
        if "default" in field:
            default = self._default(field["type"], field["default"], kind)
        written = json.dumps(field["default"], ensure_ascii=False) if "default" in field else None
        doc = str(field.get("doc") or "")
        return ModelField(field["name"], kind, default, doc, schema_type(field["type"]), written)

    def type(self, schema: Any, space: str) -> str:
        if isinstance(schema, list):
            parts = [self.type(each, space) for each in schema]
            return union_of(parts)
        if isinstance(schema, str):
            full = schema if "." in schema or schema in _SCALARS else ".".join(filter(None, (space, schema)))
            found = _SCALARS.get(schema) or self._classes.get(full) or self._classes.get(schema)
            if found is None:
                raise RepositoryError(f"The Avro schema uses {schema}, which it does not define")
            return found
        kind = schema.get("type")
        logical = _LOGICAL.get(str(schema.get("logicalType")))
        if kind == "record":
            return self.record(schema, space).name
        if kind == "enum":
            full, _ = self._declare(schema, space)
            name = self._classes[full]
            self.enums[name] = ModelEnum(name, tuple(schema["symbols"]), str(schema.get("doc") or ""))
            return name
        if kind == "fixed":
            full, _ = self._declare(schema, space)
            self._classes[full] = logical or "bytes"
            return self._classes[full]
        if kind == "array":
            return f"list[{self.type(schema['items'], space)}]"
        if kind == "map":
            return f"dict[str, {self.type(schema['values'], space)}]"
        return logical if logical is not None else self.type(kind, space)

    def _default(self, schema: Any, value: Any, kind: str) -> str | None:
        """A default as a Python expression. Defaults of records and logical types have none: programs must pass a
        value."""
        if isinstance(schema, list):
            schema = schema[0]
        if value is None:
            return "None"
        name = kind.partition(" | ")[0]
        if name in self.enums:
            return f"{name}.{value}" if value in self.enums[name].symbols else None
        if isinstance(value, list):
            return "field(default_factory=list)" if not value else None
        if isinstance(value, dict):
            return "field(default_factory=dict)" if not value and kind.startswith("dict") else None
        if isinstance(schema, dict) and "logicalType" in schema:
            return None
        if name == "bytes":
            return repr(str(value).encode("latin-1"))
        if name != "float":
            return repr(value)
        return repr(float(value)) if math.isfinite(float(value)) else f'float("{float(value)}")'
