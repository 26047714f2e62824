from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.common.config_def import (
    ConfigDef,
    ConfigException,
    ConfigKey,
    Password,
    parse_type,
    to_text,
)
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import (
    EachOneOf,
    KnownVersion,
    NonEmptyString,
    NonNull,
    OneOf,
    RangeOr,
    ThrottledReplicas,
    at_least,
    between,
)
from kafkapy.common.wire_enums import ConfigType


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        (ConfigType.BOOLEAN, " TRUE ", True),
        (ConfigType.BOOLEAN, "False", False),
        (ConfigType.INT, "+5", 5),
        (ConfigType.INT, "-2147483648", -(1 << 31)),
        (ConfigType.LONG, "9223372036854775807", (1 << 63) - 1),
        (ConfigType.SHORT, "32767", 32767),
        (ConfigType.DOUBLE, "1.7976931348623157E308", 1.7976931348623157e308),
        (ConfigType.DOUBLE, ".5", 0.5),
        (ConfigType.DOUBLE, "5.", 5.0),
        (ConfigType.DOUBLE, "1e3d", 1000.0),
        (ConfigType.DOUBLE, "-Infinity", -math.inf),
        (ConfigType.LIST, "a , b,c ", ["a", "b", "c"]),
        (ConfigType.LIST, "a,", ["a", ""]),
        (ConfigType.LIST, "  ", []),
        (ConfigType.STRING, " x y ", "x y"),
        (ConfigType.CLASS, "a.B", "a.B"),
        (ConfigType.PASSWORD, " pw ", Password("pw")),
    ],
)
def test_text_becomes_a_typed_value(type: ConfigType, text: str, value: object) -> None:
    assert parse_type("name", text, type) == value


@pytest.mark.parametrize(
    ("type", "text"),
    [
        (ConfigType.INT, "2147483648"),
        (ConfigType.INT, "1.0"),
        (ConfigType.INT, ""),
        (ConfigType.INT, "1_000"),
        (ConfigType.INT, "\u0661"),
        (ConfigType.SHORT, "32768"),
        (ConfigType.LONG, "9223372036854775808"),
        (ConfigType.DOUBLE, "1_0"),
        (ConfigType.DOUBLE, "inf"),
        (ConfigType.DOUBLE, "nan"),
    ],
)
def test_what_is_no_number_is_refused_with_the_key_the_value_and_the_type(type: ConfigType, text: str) -> None:
    with pytest.raises(ConfigException) as refusal:
        parse_type("some.key", text, type)
    assert str(refusal.value) == f"Invalid value {text} for configuration some.key: Not a number of type {type.name}"


def test_a_boolean_is_true_or_false() -> None:
    with pytest.raises(ConfigException, match=r"Invalid value yes .* Expected value to be either true or false"):
        parse_type("k", "yes", ConfigType.BOOLEAN)


def test_typed_values_stay() -> None:
    assert parse_type("k", 5, ConfigType.LONG) == 5
    assert parse_type("k", None, ConfigType.INT) is None


@given(st.integers(min_value=-(1 << 63), max_value=(1 << 63) - 1))
def test_longs_survive_text(number: int) -> None:
    assert parse_type("k", to_text(number), ConfigType.LONG) == number


@given(st.floats(allow_nan=False))
def test_doubles_survive_text(number: float) -> None:
    assert parse_type("k", to_text(number), ConfigType.DOUBLE) == number


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (0.5, "0.5"),
        (50.0, "50.0"),
        (1.0e7, "1.0E7"),
        (1.2345678e7, "1.2345678E7"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (-123.25, "-123.25"),
        (1.7976931348623157e308, "1.7976931348623157E308"),
        (float("nan"), "NaN"),
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (2147483647.0, "2.147483647E9"),
        (["a", "b"], "a,b"),
        ([], ""),
        (Password("secret"), "[hidden]"),
    ],
)
def test_values_print_as_java_prints_them(value: object, text: str) -> None:
    assert to_text(value) == text


@pytest.mark.parametrize(
    ("validator", "value", "reason"),
    [
        (at_least(1), 0, "Invalid value 0 for configuration k: Value must be at least 1"),
        (at_least(1), None, "Invalid value null for configuration k: Value must be non-null"),
        (between(0, 1), 1.5, "Invalid value 1.5 for configuration k: Value must be no more than 1"),
        (between(0, 0.5), 0.6, "Invalid value 0.6 for configuration k: Value must be no more than 0.5"),
        (RangeOr(1, 9, -1), 0, "Invalid value 0 for configuration k: Value must be between 1 and 9 or equal to -1"),
        (OneOf("a", "b"), "c", "Invalid value c for configuration k: String must be one of: a, b"),
        (
            OneOf("A", "B", case_insensitive=True),
            "c",
            "Invalid value c for configuration k: String must be one of (case insensitive): A, B",
        ),
        (EachOneOf("a", "b"), ["a", ""], "Invalid value  for configuration k: String must be one of: a, b"),
        (NonEmptyString(), "", "Invalid value  for configuration k: String must be non-empty"),
        (NonNull(), None, "Invalid value null for configuration k: entry must be non null"),
        (KnownVersion(), "9.9", "Invalid value 9.9 for configuration k: Version 9.9 is not a valid version"),
        (
            ThrottledReplicas(),
            ["a:b", "c:d"],
            "Invalid value [a:b, c:d] for configuration k: k must be the literal '*' or a list of replicas in the "
            "following format: [partitionId]:[brokerId],[partitionId]:[brokerId],...",
        ),
    ],
)
def test_validators_refuse_with_kafkas_sentences(validator: Any, value: object, reason: str) -> None:
    with pytest.raises(ConfigException) as refusal:
        validator("k", value)
    assert str(refusal.value) == reason


@pytest.mark.parametrize(
    ("validator", "value"),
    [
        (at_least(1), 1),
        (between(0, 1), float("nan")),
        (RangeOr(1, 9, -1), -1),
        (OneOf("A", case_insensitive=True), "a"),
        (EachOneOf("a", "b"), []),
        (NonEmptyString(), None),
        (KnownVersion(), "3.9.1"),
        (KnownVersion(), "0.10.2"),
        (ThrottledReplicas(), ["*"]),
        (ThrottledReplicas(), ["1:2", " 3:4"]),
        (ThrottledReplicas(), []),
    ],
)
def test_validators_let_pass_what_kafka_lets_pass(validator: Any, value: object) -> None:
    validator("k", value)


def test_a_definition_parses_what_is_set_and_takes_defaults_for_the_rest() -> None:
    keys = {
        "a.b": ConfigKey("a.b", ConfigType.INT, 5, validator=at_least(1)),
        "c": ConfigKey("c", ConfigType.LIST, "x,y"),
    }
    definition = ConfigDef(keys)
    assert definition.parse({"a.b": "7", "unknown": "1"}) == {"a.b": 7, "c": ["x", "y"]}
    with pytest.raises(ConfigException):
        definition.parse({"a.b": "0"})


def test_a_table_names_its_configs_after_its_attributes() -> None:
    class Base(ConfigTable):
        some_key: int = config(ConfigType.INT, 1, None, "Some.")

    class Table(Base, slots=True):
        other_key: str = config(ConfigType.STRING, "x", None, "Other.", name="camelKey")

    assert list(Table.definition) == ["some.key", "camelKey"]
    assert Table.attributes == {"some.key": "some_key", "camelKey": "other_key"}
    table = Table()
    table.some_key, table.other_key = 3, "y"
    assert table.values() == {"some.key": 3, "camelKey": "y"}
    assert table.get("camelKey") == "y"


def test_a_password_does_not_show_itself() -> None:
    assert "pw" not in repr(Password("pw")) + str(Password("pw")) + f"{Password('pw')}"
    assert str(ConfigException.invalid("k", Password("pw"))) == "Invalid value [hidden] for configuration k"
