"""Names and settings of the mapping between Connect's data and JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from kafkapy.connect.data.schema import Schema, Type

NAMESPACE: Final = "io.confluent.connect.json"
ENUM: Final = f"{NAMESPACE}.Enum"
ONE_OF: Final = f"{NAMESPACE}.OneOf"
GENERAL_UNION: Final = "org.apache.kafka.connect.data.Union"
GENERAL_ENUM: Final = "org.apache.kafka.connect.data.Enum"
NULL_SYMBOL: Final = "<NULL>"


@dataclass(frozen=True)
class JsonOptions:
    """Settings of the mapping."""

    numeric_decimals: bool = False
    additional_properties: bool = True
    optional_unless_required: bool = False
    general_sums: bool = False
    flatten_singleton_unions: bool = True
    ignore_defaults: bool = False

    @classmethod
    def of(cls, parsed: Mapping[str, Any]) -> JsonOptions:
        """Return the options of a converter's parsed settings."""
        return cls(
            parsed["decimal.format"].upper() == "NUMERIC",
            parsed["object.additional.properties"],
            parsed["use.optional.for.nonrequired"],
            parsed["generalized.sum.type.support"],
            parsed["flatten.singleton.unions"],
            parsed["ignore.default.for.nullables"],
        )

    @property
    def enum_parameter(self) -> str:
        return GENERAL_ENUM if self.general_sums else ENUM


def is_one_of(schema: Schema) -> bool:
    """Return whether a struct stands for a union: one of its fields has a value."""
    return schema.type is Type.STRUCT and (schema.name == ONE_OF or GENERAL_UNION in (schema.parameters or {}))


def has_text_keys(schema: Schema) -> bool:
    """Return whether a map is an object in JSON."""
    keys = schema.key_schema
    return keys is not None and keys.type is Type.STRING and not keys.optional


def sum_name(schema: Schema, index: int) -> str:
    """Return the name of the field of a union's struct that has the member of an index."""
    is_general = GENERAL_UNION in (schema.parameters or {})
    return f"connect_union_field_{index}" if is_general else f"{ONE_OF}.field.{index}"
