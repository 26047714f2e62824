"""Avro container files."""

from __future__ import annotations

import hashlib
import re
from decimal import Decimal
from typing import Any, Final

from kafkapy.connect.connectors.objects.spool import Spool
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.data.logical import date_to_days, decimal_to_bytes, time_to_ms, timestamp_to_ms
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP, Struct
from kafkapy.connect.errors import DataException

_PRIMITIVE: Final = {
    Type.INT8: "int",
    Type.INT16: "int",
    Type.INT32: "int",
    Type.INT64: "long",
    Type.FLOAT32: "float",
    Type.FLOAT64: "double",
    Type.BOOLEAN: "boolean",
    Type.STRING: "string",
    Type.BYTES: "bytes",
}
_LOGICAL: Final = {
    DATE: ("date", date_to_days),
    TIME: ("time-millis", time_to_ms),
    TIMESTAMP: ("timestamp-millis", timestamp_to_ms),
}
_PRECISION: Final = 64
_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*", re.ASCII)


class AvroEncoder:
    """Writes a container file. The same values are the same bytes.

    Args:
        spool: Where it writes.
        schema: Of the values.
        codec: null, deflate, bzip2, snappy, zstandard or xz.
        path: Of the file; its blocks are separated by a marker that is made of it.

    Raises:
        DataException: The values have no schema, or Avro cannot have it.
    """

    def __init__(self, spool: Spool, schema: Schema | None, codec: str, path: str) -> None:
        require("connect-objects", "fastavro", "Avro files")
        import fastavro
        from fastavro.write import Writer

        if schema is None:
            raise DataException("Avro files need values with a schema, for example of AvroConverter.")
        self._schema = schema
        try:
            parsed = fastavro.parse_schema(AvroSchemas().of(schema))
            self._writer = Writer(spool, parsed, codec, sync_marker=_marker(path))
        except (fastavro.schema.SchemaParseException, ValueError) as error:
            raise DataException(f"The schema {schema.name} cannot be written as Avro: {error}") from error

    def prepared(self, value: Any) -> Any:
        return avro_value(self._schema, value)

    def append(self, prepared: Any) -> None:
        self._writer.write(prepared)

    def finish(self) -> None:
        self._writer.flush()


class AvroSchemas:
    """Converts schemas of Connect to Avro's.

    Invariant: `_named` has the structs that have a name already, which is unique in one Avro schema.
    """

    def __init__(self) -> None:
        self._named: dict[str, Schema] = {}

    def of(self, schema: Schema) -> Any:
        """Return the Avro schema as JSON."""
        shown = self._plain(schema)
        return ["null", shown] if schema.optional else shown

    def _plain(self, schema: Schema) -> Any:
        match schema.type:
            case Type.STRUCT:
                return self._record(schema)
            case Type.ARRAY:
                return {"type": "array", "items": self.of(_inner(schema.value_schema))}
            case Type.MAP:
                key, value = _inner(schema.key_schema), _inner(schema.value_schema)
                if key.type is Type.STRING and not key.optional:
                    return {"type": "map", "values": self.of(value)}
                fields = [{"name": "key", "type": self.of(key)}, {"name": "value", "type": self.of(value)}]
                name = self._free("io.confluent.connect.avro.MapEntry")
                self._named[name] = schema
                return {"type": "array", "items": {"type": "record", "name": name, "fields": fields}}
            case kind:
                return _scalar(schema, _PRIMITIVE[kind])

    def _record(self, schema: Schema) -> Any:
        wanted = schema.name or "io.confluent.connect.avro.ConnectDefault"
        if not _NAME.fullmatch(wanted):
            wanted = re.sub(r"[^A-Za-z0-9_.]", "_", wanted, flags=re.ASCII)
        for name, known in self._named.items():
            if known.type is Type.STRUCT and _required(known) == _required(schema):
                return name
        name = self._free(wanted)
        self._named[name] = schema
        fields = [self._field(field.name, field.schema) for field in schema.fields]
        record: dict[str, Any] = {"type": "record", "name": name, "fields": fields}
        if schema.version is not None:
            record["connect.version"] = schema.version
        return record if schema.name is None else {**record, "connect.name": schema.name}

    def _field(self, name: str, schema: Schema) -> dict[str, Any]:
        if not _NAME.fullmatch(name) or "." in name:
            raise DataException(f"The field {name} cannot be written as Avro: its name must be letters, digits and _.")
        field: dict[str, Any] = {"name": name, "type": self.of(schema)}
        if schema.doc:
            field["doc"] = schema.doc
        if schema.optional and schema.default is None:
            field["default"] = None
        return field

    def _free(self, name: str) -> str:
        number, free = 1, name
        while free in self._named:
            number += 1
            free = f"{name}{number}"
        return free


def _required(schema: Schema) -> tuple[Any, ...]:
    return schema.name, schema.version, schema.fields


def _inner(schema: Schema | None) -> Schema:
    if schema is None:
        raise DataException("The elements of an array or a map have no schema.")
    return schema


def _scalar(schema: Schema, kind: str) -> Any:
    shown: dict[str, Any] = {"type": kind}
    if schema.type in (Type.INT8, Type.INT16):
        shown["connect.type"] = schema.type.value
    if schema.name is not None:
        shown["connect.name"] = schema.name
    if schema.name == DECIMAL:
        scale = int((schema.parameters or {}).get("scale", 0))
        precision = int((schema.parameters or {}).get("connect.decimal.precision", _PRECISION))
        shown |= {"logicalType": "decimal", "precision": max(precision, scale), "scale": scale}
    elif schema.name in _LOGICAL:
        shown["logicalType"] = _LOGICAL[schema.name][0]
    return kind if len(shown) == 1 else shown


def avro_value(schema: Schema, value: Any) -> Any:
    """Return a value as fastavro writes it.

    Args:
        schema: Its schema.
        value: The value; None stands for the schema's default.

    Raises:
        DataException: None has no place in the schema.

    Example:
        >>> avro_value(Schema(Type.ARRAY, value_schema=Schema(Type.INT8)), [1, 2])
        [1, 2]
    """
    if value is None:
        value = schema.default
        if value is None:
            if schema.optional:
                return None
            raise DataException("The value is null, and its schema neither optional nor with a default.")
    if schema.name == DECIMAL and isinstance(value, Decimal):
        return decimal_to_bytes(schema, value)
    if schema.name in _LOGICAL:
        return _LOGICAL[schema.name][1](schema, value)
    match schema.type:
        case Type.STRUCT if isinstance(value, Struct):
            return {
                field.name: avro_value(field.schema, value.get_without_default(field.name)) for field in schema.fields
            }
        case Type.ARRAY:
            items = _inner(schema.value_schema)
            return [avro_value(items, each) for each in value]
        case Type.MAP:
            keys, values = _inner(schema.key_schema), _inner(schema.value_schema)
            pairs = [(avro_value(keys, key), avro_value(values, each)) for key, each in value.items()]
            if keys.type is Type.STRING and not keys.optional:
                return dict(pairs)
            return [{"key": key, "value": each} for key, each in pairs]
    return value


def _marker(path: str) -> bytes:
    return hashlib.md5(path.encode(), usedforsecurity=False).digest()
