"""The predicates of Kafka (KIP-585)."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.common.config_def import Importance
from kafkapy.common.config_validators import NonEmptyString
from kafkapy.common.patterns import java
from kafkapy.connect.config.config_def import ConfigDef
from kafkapy.connect.config.validators import All, RegexPattern
from kafkapy.connect.records import ConnectRecord
from kafkapy.connect.transforms.transformation import Predicate

_PREDICATES = "org.apache.kafka.connect.transforms.predicates."


class HasHeaderKey(Predicate):
    """True for records with a header of a name."""

    java_class = f"{_PREDICATES}HasHeaderKey"
    _DEFINITIONS = ConfigDef().define(
        "name", validator=NonEmptyString(), importance=Importance.MEDIUM, doc="Name of the header."
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        self._name: str = self._DEFINITIONS.parse(configs)["name"]

    def test(self, record: ConnectRecord) -> bool:
        return any(header.key == self._name for header in record.headers)


class RecordIsTombstone(Predicate):
    """True for records whose value is None.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> RecordIsTombstone().test(SourceRecord({}, {}, "topic"))
        True
    """

    java_class = f"{_PREDICATES}RecordIsTombstone"

    def test(self, record: ConnectRecord) -> bool:
        return record.value is None


class TopicNameMatches(Predicate):
    """True for records whose topic matches a regular expression as a whole.

    Example:
        >>> from kafkapy.connect.records import SourceRecord
        >>> predicate = TopicNameMatches()
        >>> predicate.configure({"pattern": "a.*"})
        >>> predicate.test(SourceRecord({}, {}, "abc"))
        True
    """

    java_class = f"{_PREDICATES}TopicNameMatches"
    _DEFINITIONS = ConfigDef().define(
        "pattern",
        validator=All(NonEmptyString(), RegexPattern()),
        importance=Importance.MEDIUM,
        doc="Regular expression of Java for the whole name of the topic.",
    )

    def config(self) -> ConfigDef:
        return self._DEFINITIONS

    def configure(self, configs: Mapping[str, object]) -> None:
        self._pattern = java(self._DEFINITIONS.parse(configs)["pattern"])

    def test(self, record: ConnectRecord) -> bool:
        return record.topic is not None and self._pattern.fullmatch(record.topic)
