"""Filters and changes records by expressions (`kafkapy.connect.transforms.Expression`)."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.decimals import decimal_of
from kafkapy.connect.data.logical import date_builder, decimal_builder, time_builder, timestamp_builder
from kafkapy.connect.data.scalars import Float32
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import DECIMAL, Struct
from kafkapy.connect.errors import DataException
from kafkapy.connect.records import ConnectRecord
from kafkapy.connect.transforms.expressions.expression import Expression
from kafkapy.connect.transforms.requirements import SCHEMAS_KEPT, copied_basics, require_map
from kafkapy.connect.transforms.transformation import R, Transformation

_NAMES: Final = ["value", "key", "headers", "topic", "partition", "timestamp"]
_SINGLE: Final = ("filter", "topic", "partition", "timestamp")
_KINDS: Final = ("set.", "type.", "header.")
_OF_CHAIN: Final = ("type", "predicate", "negate")
_DECIMAL: Final = re.compile(r"decimal\((\d{1,4})\)")
_LOGICAL: Final[dict[str, Callable[[], SchemaBuilder]]] = {
    "date": date_builder,
    "time": time_builder,
    "timestamp": timestamp_builder,
}
_SCALARS: Final = {each.value: each for each in Type if each.is_primitive}


class ExpressionTransform(Transformation):
    """Keeps, drops and changes records by expressions over `value`, `key`, `headers`, `topic`, `partition`, `timestamp` (ms).

    All expressions see the record as it was before the transform.

    Settings:
        filter: Records for which it is false are dropped. Default: all stay.
        set.FIELD: The new value of a field of the value, which is a struct or a map.
        type.FIELD: Type of a field that a struct does not have yet: int8 to int64, float32, float64, boolean, string,
            bytes, date, time, timestamp, decimal(SCALE). The field is optional.
        topic, partition, timestamp: The record's new topic, partition, timestamp in ms. Default: unchanged.
        header.NAME: The value of a header; it replaces those of that name. None: the header is removed.

    Raises:
        ConfigException: An expression cannot be read, or there is no such setting.
        DataException: An expression has failed, or its result does not fit.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = ExpressionTransform()
        >>> transform.configure({"filter": "value.price > 3", "set.total": "value.price * value.count"})
        >>> transform.apply(SourceRecord({}, {}, "sales", value={"price": 5, "count": 2})).value["total"]
        10
    """

    java_class = "kafkapy.connect.transforms.Expression"
    version = "undefined"
    _DEFINITIONS = ConfigDef().define(
        "filter", default=None, doc="Expression; records for which it is false are dropped."
    )
    for _name in _SINGLE[1:]:
        _DEFINITIONS.define(_name, default=None, doc=f"Expression with the record's new {_name}.")

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        _check_names(configs)
        self._single = {name: Expression(str(configs[name]), _NAMES) for name in _SINGLE if _is_set(configs, name)}
        self._fields = _expressions(configs, "set.")
        self._headers = _expressions(configs, "header.")
        self._types = {
            name.removeprefix("type."): _schema_of(name, str(text))
            for name, text in configs.items()
            if name.startswith("type.")
        }
        if unused := sorted(self._types.keys() - self._fields.keys()):
            raise ConfigException(f"type.{unused[0]} is set, and set.{unused[0]} is not; set both")
        if not self._single and not self._fields and not self._headers:
            raise ConfigException("The transform has no expression; set filter, set.FIELD, header.NAME or topic")
        self._schemas = SchemaCache[Schema, Schema](SCHEMAS_KEPT)

    def apply(self, record: R) -> R | None:
        scope = {name: getattr(record, name) for name in ("value", "key", "topic", "timestamp")}
        scope["partition"] = record.kafka_partition
        scope["headers"] = {header.key: header.value for header in record.headers}
        found = {name: each.evaluate(scope) for name, each in self._single.items()}
        if "filter" in found and not found.pop("filter"):
            return None
        changes = {("kafka_partition" if name == "partition" else name): each for name, each in found.items()}
        _check_results(changes)
        if self._headers:
            headers = record.headers.duplicate()
            for name, each in self._headers.items():
                value = each.evaluate(scope)
                headers.remove(name)
                if value is not None:
                    headers.add(name, value)
            changes["headers"] = headers
        if self._fields and record.value is not None:
            values = {name: each.evaluate(scope) for name, each in self._fields.items()}
            changes["value_schema"], changes["value"] = self._changed(record, values)
        return record.replace(**changes) if changes else record

    def _changed(self, record: ConnectRecord, values: dict[str, Any]) -> tuple[Schema | None, Any]:
        if record.value_schema is None:
            return None, {**require_map(record.value, "expressions"), **values}
        if not isinstance(record.value, Struct):
            raise DataException("set.FIELD needs a value that is a struct or a map")
        schema = self._schemas.get(record.value.schema, self._extended)
        made = Struct(schema)
        for field in schema.fields:
            if field.name in values:
                made.put(field.name, _fitting(field.schema, values[field.name]))
            else:
                made.put(field.name, record.value.get_without_default(field.name))
        return schema, made

    def _extended(self, schema: Schema) -> Schema:
        new = [name for name in self._fields if schema.field(name) is None]
        if not new:
            return schema
        builder = copied_basics(schema, SchemaBuilder(Type.STRUCT))
        for field in schema.fields:
            builder.field(field.name, field.schema)
        for name in new:
            if name not in self._types:
                raise DataException(
                    f"The value has no field {name}; set type.{name} to give a new field its type, such as "
                    f"type.{name}=string"
                )
            builder.field(name, self._types[name])
        return builder.build()


def _is_set(configs: Mapping[str, object], name: str) -> bool:
    return configs.get(name) is not None


def _check_names(configs: Mapping[str, object]) -> None:
    unknown = sorted(
        name for name in configs if name not in _SINGLE and name not in _OF_CHAIN and not name.startswith(_KINDS)
    )
    if unknown:
        raise ConfigException(
            f"The transform has no setting {unknown[0]}; it has {', '.join(_SINGLE)}, set.FIELD, type.FIELD, header.NAME"
        )


def _expressions(configs: Mapping[str, object], prefix: str) -> dict[str, Expression]:
    return {
        name.removeprefix(prefix): Expression(str(text), _NAMES)
        for name, text in configs.items()
        if name.startswith(prefix)
    }


def _schema_of(name: str, text: str) -> Schema:
    text = text.strip().lower()
    decimal = _DECIMAL.fullmatch(text)
    if decimal:
        builder = decimal_builder(int(decimal[1]))
    elif text in _LOGICAL:
        builder = _LOGICAL[text]()
    elif text in _SCALARS:
        builder = SchemaBuilder(_SCALARS[text])
    else:
        known = ", ".join([*_SCALARS, *_LOGICAL, "decimal(SCALE)"])
        raise ConfigException(f"{name} is {text}; it must be one of {known}")
    return builder.optional().build()


def _check_results(changes: dict[str, Any]) -> None:
    for name, kind in (("topic", str), ("kafka_partition", int), ("timestamp", int)):
        value = changes.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            shown = name.removeprefix("kafka_")
            raise DataException(f"The expression for {shown} gives {value!r}, which is no {kind.__name__}")
    if "topic" in changes and not changes["topic"]:
        raise DataException("The expression for topic gives no name")


def _fitting(schema: Schema, value: Any) -> Any:
    """The result of an expression as a plain value for a field; the struct checks it."""
    if value is None:
        return None
    if schema.name == DECIMAL:
        return _decimal(schema, value)
    if schema.type in (Type.FLOAT32, Type.FLOAT64) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, Float32) and schema.type is Type.FLOAT64:
        return float.__add__(value, 0.0)
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    return value


def _decimal(schema: Schema, value: Any) -> Any:
    from decimal import Decimal

    scale = int((schema.parameters or {}).get("scale", "0"))
    exact = Decimal(str(value)) if isinstance(value, float) else Decimal(value)
    shifted = exact.scaleb(scale)
    if shifted != shifted.to_integral_value():
        raise DataException(f"{exact} has more than {scale} digits behind the point")
    return decimal_of(int(shifted), scale)
