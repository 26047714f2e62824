"""Adds and removes headers (`InsertHeader`, `DropHeaders`), and drops records (`Filter`)."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.common.config_def import Importance
from kafkapy.common.config_validators import NonNull
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.config.validators import NonEmptyList
from kafkapy.connect.data.value_parser import parse_string
from kafkapy.connect.headers import Headers
from kafkapy.connect.transforms.transformation import R, Transformation


class InsertHeader(Transformation):
    """Adds a header to each record.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = InsertHeader()
        >>> transform.configure({"header": "a", "value.literal": "5"})
        >>> transform.apply(SourceRecord({}, {}, "topic")).headers.last_with_name("a").value
        5
    """

    java_class = "org.apache.kafka.connect.transforms.InsertHeader"
    _DEFINITIONS = (
        ConfigDef()
        .define("header", validator=NonNull(), importance=Importance.HIGH, doc="Name of the header.")
        .define("value.literal", validator=NonNull(), importance=Importance.HIGH, doc="Value of the header, as text.")
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        parsed = self._DEFINITIONS.parse(configs)
        value = parse_string(parsed["value.literal"])
        (self._header,) = Headers().add(parsed["header"], value.value, value.schema)

    def apply(self, record: R) -> R | None:
        return record.with_headers(record.headers.duplicate().add_header(self._header))


class DropHeaders(Transformation):
    """Removes headers from each record.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> transform = DropHeaders()
        >>> transform.configure({"headers": "a,b"})
        >>> len(transform.apply(SourceRecord({}, {}, "topic", headers=Headers().add("a", 1))).headers)
        0
    """

    java_class = "org.apache.kafka.connect.transforms.DropHeaders"
    _DEFINITIONS = ConfigDef().define(
        "headers",
        ConfigType.LIST,
        validator=NonEmptyList(),
        importance=Importance.HIGH,
        doc="Names of the headers that are removed.",
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        self._names = set(self._DEFINITIONS.parse(configs)["headers"])

    def apply(self, record: R) -> R | None:
        return record.with_headers(Headers(each for each in record.headers if each.key not in self._names))


class FilterRecords(Transformation):
    """Drops each record; a predicate decides which ones it gets (`Filter`, KIP-585).

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> FilterRecords().apply(SourceRecord({}, {}, "topic")) is None
        True
    """

    java_class = "org.apache.kafka.connect.transforms.Filter"

    def apply(self, record: R) -> R | None:
        return None
