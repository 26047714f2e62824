"""Removes and renames fields (`org.apache.kafka.connect.transforms.ReplaceField`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.java_hash_order import hash_map, power_of_two
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.config.validators import Described
from kafkapy.connect.data.builder import SchemaBuilder
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.schema_cache import SchemaCache
from kafkapy.connect.data.struct import Struct
from kafkapy.connect.transforms.java_split import java_split
from kafkapy.connect.transforms.requirements import (
    SCHEMAS_KEPT,
    USE_DEFAULTS,
    copied_basics,
    define_use_defaults,
    known_field,
    require_map,
    require_struct,
)
from kafkapy.connect.transforms.transformation import OnKey, OnValue, R, SidedTransformation

_PURPOSE = "field replacement"
_DEPRECATED = {"include": "whitelist", "exclude": "blacklist"}


def _parse_renames(pairs: Sequence[str]) -> dict[str, str]:
    renames = {}
    for pair in pairs:
        parts = java_split(pair, ":")
        if len(parts) != 2:
            raise ConfigException.invalid("renames", list(pairs), f"Invalid rename mapping: {pair}")
        renames[parts[0]] = parts[1]
    return renames


def _check_renames(name: str, pairs: Sequence[str]) -> None:
    _parse_renames(pairs)


def _define() -> ConfigDef:
    definitions = ConfigDef()
    for name, doc in (("exclude", "Fields to remove, even if `include` names them."), ("include", "Fields to keep.")):
        deprecated = f"Deprecated. The same as `{name}`."
        definitions.define(name, ConfigType.LIST, [], importance=Importance.MEDIUM, doc=doc)
        definitions.define(_DEPRECATED[name], ConfigType.LIST, None, importance=Importance.LOW, doc=deprecated)
    definitions.define(
        "renames",
        ConfigType.LIST,
        [],
        validator=Described(_check_renames, "list of colon-delimited pairs, e.g. <code>foo:bar,abc:xyz</code>"),
        importance=Importance.MEDIUM,
        doc="Pairs of the old and the new name of a field.",
    )
    return define_use_defaults(definitions)


class ReplaceField(SidedTransformation):
    """Removes and renames fields of structs, and entries of maps.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = ReplaceFieldOnValue()
        >>> transform.configure({"exclude": "a", "renames": "b:c"})
        >>> transform.apply(SourceRecord({}, {}, "topic", value={"a": 1, "b": 2})).value
        {'c': 2}
    """

    _DEFINITIONS = _define()

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        given = dict(configs)
        for name, deprecated in _DEPRECATED.items():
            if deprecated in given:
                given.setdefault(name, given.pop(deprecated))
        parsed = self._DEFINITIONS.parse(given)
        self._exclude, self._include = set(parsed["exclude"]), set(parsed["include"])
        self._renames = _parse_renames(parsed["renames"])
        self._old_names = {new: old for old, new in self._renames.items()}
        self._use_defaults: bool = parsed[USE_DEFAULTS]
        self._schemas = SchemaCache[Schema, tuple[Schema, list[int]]](SCHEMAS_KEPT)

    def apply(self, record: R) -> R | None:
        value = self.value_of(record)
        if value is None:
            return record
        if self.schema_of(record) is None:
            entries = require_map(value, _PURPOSE)
            kept = {self._renames.get(name, name): each for name, each in entries.items() if self._kept(name)}
            return self.with_value(record, None, hash_map(kept, power_of_two(len(entries))))
        struct = require_struct(value, _PURPOSE)
        schema, places = self._schemas.get(struct.schema, self._updated)
        values = struct.values(self._use_defaults)
        return self.with_value(record, schema, Struct.of_values(schema, [values[place] for place in places]))

    def _kept(self, name: str) -> bool:
        return name not in self._exclude and (not self._include or name in self._include)

    def _updated(self, schema: Schema) -> tuple[Schema, list[int]]:
        """The new schema, and where its fields' values are in structs of the old one."""
        builder = copied_basics(schema, SchemaBuilder(Type.STRUCT))
        for field in schema.fields:
            if self._kept(field.name):
                builder.field(self._renames.get(field.name, field.name), field.schema)
        updated = builder.build()
        old_names = [self._old_names.get(field.name, field.name) for field in updated.fields]
        return updated, [known_field(schema, name).index for name in old_names]


class ReplaceFieldOnKey(OnKey, ReplaceField):
    """`ReplaceField$Key`."""

    java_class = "org.apache.kafka.connect.transforms.ReplaceField$Key"


class ReplaceFieldOnValue(OnValue, ReplaceField):
    """`ReplaceField$Value`."""

    java_class = "org.apache.kafka.connect.transforms.ReplaceField$Value"
