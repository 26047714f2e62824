"""Replaces a key or value by one of its fields (`org.apache.kafka.connect.transforms.ExtractField`)."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.common.config_def import Importance
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.errors import IllegalArgumentException
from kafkapy.connect.transforms.field_path import SYNTAX_VERSION, FieldPath, define_syntax_version
from kafkapy.connect.transforms.requirements import USE_DEFAULTS, define_use_defaults, require_map, require_struct
from kafkapy.connect.transforms.transformation import OnKey, OnValue, R, SidedTransformation

_PURPOSE = "field extraction"


class ExtractField(SidedTransformation):
    """Takes a field out of a struct or a map; None stays.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = ExtractFieldOnValue()
        >>> transform.configure({"field": "a"})
        >>> transform.apply(SourceRecord({}, {}, "topic", value={"a": 1})).value
        1
    """

    _DEFINITIONS = define_syntax_version(
        define_use_defaults(
            ConfigDef().define("field", importance=Importance.MEDIUM, doc="Name of the field, or the path to it.")
        )
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        self._text: str = parsed["field"]
        self._path = FieldPath(self._text, parsed[SYNTAX_VERSION])
        self._use_defaults: bool = parsed[USE_DEFAULTS]

    def apply(self, record: R) -> R | None:
        value, schema = self.value_of(record), self.schema_of(record)
        if schema is None:
            found = None if value is None else self._path.value_in_map(require_map(value, _PURPOSE))
            return self.with_value(record, None, found)
        struct = None if value is None else require_struct(value, _PURPOSE)
        field = self._path.field_in(schema)
        if field is None:
            raise IllegalArgumentException(f"Unknown field: {self._text}")
        found = None if struct is None else self._path.value_in_struct(struct, self._use_defaults)
        return self.with_value(record, field.schema, found)


class ExtractFieldOnKey(OnKey, ExtractField):
    """`ExtractField$Key`."""

    java_class = "org.apache.kafka.connect.transforms.ExtractField$Key"


class ExtractFieldOnValue(OnValue, ExtractField):
    """`ExtractField$Value`."""

    java_class = "org.apache.kafka.connect.transforms.ExtractField$Value"
