"""Names and settings of the mapping between Connect's data and Protobuf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kafkapy.connect.converters.avro.avro_options import scrubbed
from kafkapy.connect.converters.registry.format_options import FormatOptions
from kafkapy.connect.data.schema import Schema, Type
from kafkapy.connect.data.struct import DATE, DECIMAL, TIME, TIMESTAMP

NAMESPACE: Final = "io.confluent.connect.protobuf"
DEFAULT_NAME: Final = "ConnectDefault"
ENUM: Final = f"{NAMESPACE}.Enum"
UNION: Final = f"{NAMESPACE}.Union."
TAG: Final = f"{NAMESPACE}.Tag"
PROTO_TYPE: Final = f"{NAMESPACE}.Type"
GENERAL_UNION: Final = "org.apache.kafka.connect.data.Union"
GENERAL_ENUM: Final = "org.apache.kafka.connect.data.Enum"
PRECISION: Final = "connect.decimal.precision"
META_FILE: Final = "confluent/meta.proto"

LOGICAL_MESSAGES: Final = {
    DECIMAL: ("confluent.type.Decimal", "confluent/type/decimal.proto"),
    DATE: ("google.type.Date", "google/type/date.proto"),
    TIME: ("google.type.TimeOfDay", "google/type/timeofday.proto"),
    TIMESTAMP: ("google.protobuf.Timestamp", "google/protobuf/timestamp.proto"),
}
"""Name of a logical type -> message and its file."""
WRAPPER_FILE: Final = "google/protobuf/wrappers.proto"
WRAPPERS: Final = {
    Type.INT8: "google.protobuf.Int32Value",
    Type.INT16: "google.protobuf.Int32Value",
    Type.INT32: "google.protobuf.Int32Value",
    Type.INT64: "google.protobuf.Int64Value",
    Type.FLOAT32: "google.protobuf.FloatValue",
    Type.FLOAT64: "google.protobuf.DoubleValue",
    Type.BOOLEAN: "google.protobuf.BoolValue",
    Type.STRING: "google.protobuf.StringValue",
    Type.BYTES: "google.protobuf.BytesValue",
}
WRAPPED: Final = {
    "google.protobuf.DoubleValue": Type.FLOAT64,
    "google.protobuf.FloatValue": Type.FLOAT32,
    "google.protobuf.Int64Value": Type.INT64,
    "google.protobuf.UInt64Value": Type.INT64,
    "google.protobuf.Int32Value": Type.INT32,
    "google.protobuf.UInt32Value": Type.INT64,
    "google.protobuf.BoolValue": Type.BOOLEAN,
    "google.protobuf.StringValue": Type.STRING,
    "google.protobuf.BytesValue": Type.BYTES,
}


@dataclass(frozen=True)
class ProtobufOptions(FormatOptions):
    """Settings of the mapping; the names are those of the converter, with `_` for `.`."""

    enhanced_protobuf_schema_support: bool = False
    generalized_sum_type_support: bool = False
    scrub_invalid_names: bool = False
    int_for_enums: bool = False
    optional_for_nullables: bool = False
    optional_for_proto2: bool = True
    wrapper_for_nullables: bool = False
    wrapper_for_raw_primitives: bool = True
    generate_struct_for_nulls: bool = False
    generate_index_for_unions: bool = True
    flatten_unions: bool = False
    ignore_default_for_nullables: bool = False

    @property
    def enum_parameter(self) -> str:
        return GENERAL_ENUM if self.generalized_sum_type_support else ENUM

    def name(self, name: str) -> str:
        """Return a name as Protobuf has it."""
        if not self.scrub_invalid_names:
            return name
        found = scrubbed(name)
        return f"x{found}" if found.startswith("_") else found

    def wraps(self, schema: Schema, is_member: bool) -> bool:
        """Return whether a value that may be None is in a message that wraps it."""
        return self.wrapper_for_nullables and schema.optional and not is_member


def is_oneof(schema: Schema) -> bool:
    """Return whether a struct stands for a oneof: one of its fields has a value."""
    if schema.type is not Type.STRUCT:
        return False
    return (schema.name or "").startswith(UNION) or GENERAL_UNION in (schema.parameters or {})


def enum_name(schema: Schema) -> str | None:
    """Return the name of the enum that a schema stands for; None: it stands for none."""
    parameters = schema.parameters or {}
    return parameters.get(GENERAL_ENUM) or parameters.get(ENUM)
