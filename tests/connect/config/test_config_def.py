"""Definitions of configs: errors are Kafka's, word by word."""

from __future__ import annotations

import datetime

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.data.scalars import Instant
from kafkapy.connect.errors import ConnectException, DataException, java_class_of


class Colours:
    def valid_values(self, name: str, parsed: object) -> list[str]:
        return ["red"]

    def visible(self, name: str, parsed: object) -> bool:
        return False


def definitions() -> ConfigDef:
    return (
        ConfigDef()
        .define("size", ConfigType.INT, group="Looks", dependents=["colour"])
        .define("colour", ConfigType.STRING, "blue", recommender=Colours())
    )


def test_a_required_config_is_missing() -> None:
    with pytest.raises(ConfigException, match=r'^Missing required configuration "size" which has no default value.$'):
        definitions().parse({})


def test_values_are_typed() -> None:
    assert definitions().parse({"size": " 5 "}) == {"size": 5, "colour": "blue"}
    with pytest.raises(ConfigException, match=r"^Invalid value x for configuration size: Not a number of type INT$"):
        definitions().parse({"size": "x"})
    with pytest.raises(ConfigException, match=r"Expected value to be a 32-bit integer, but it was a java.lang.Boolean"):
        definitions().parse({"size": True})


def test_validation_answers_for_each_config() -> None:
    size, colour = definitions().validate({"size": "big"})
    assert size.errors == ["Invalid value big for configuration size: Not a number of type INT"]
    assert (colour.value, colour.recommended_values, colour.visible) == ("blue", ["red"], False)


def test_embedded_configs_have_prefixes() -> None:
    configs = ConfigDef()
    configs.embed("transforms.a.", "Transforms: a", 3, definitions())
    assert [key.name for key in configs.sorted_keys()] == ["transforms.a.colour", "transforms.a.size"]
    assert configs["transforms.a.size"].group == "Transforms: a: Looks"
    assert configs["transforms.a.size"].dependents == ("transforms.a.colour",)


def test_a_name_is_defined_once() -> None:
    with pytest.raises(ConfigException, match=r"^Configuration size is defined twice.$"):
        definitions().define("size")


def test_errors_have_javas_names() -> None:
    cause = DataException("no field")
    error = ConnectException.of(cause)
    assert str(error) == "org.apache.kafka.connect.errors.DataException: no field"
    assert error.__cause__ is cause
    assert java_class_of(ConfigException("x")) == "org.apache.kafka.common.config.ConfigException"


def test_an_instant_is_beyond_the_years_of_datetime() -> None:
    assert Instant.of(datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999)).ms == -1
    with pytest.raises(OverflowError):
        Instant(2**62).datetime()
