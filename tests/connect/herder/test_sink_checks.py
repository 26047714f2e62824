"""`kafkapy.connect.herder.sink_checks`: topics of a sink, and its dead letters."""

from __future__ import annotations

import pytest

from kafkapy.connect.config.config_def import ConfigValue
from kafkapy.connect.herder.sink_checks import check_sink

DEAD_LETTERS = "errors.deadletterqueue.topic.name"


def errors_of(config: dict[str, str | None]) -> list[str]:
    values = {name: ConfigValue(name, value) for name, value in config.items()}
    check_sink(config, values)
    return [error for value in values.values() for error in value.errors]


@pytest.mark.parametrize(
    "config",
    [
        {"topics": "a,b"},
        {"topics.regex": "sales.*"},
        {"topics": "a", DEAD_LETTERS: "dead"},
        {"topics.regex": "sales.*", DEAD_LETTERS: "dead-sales"},
        {"topics.regex": "sales", DEAD_LETTERS: "sales-dead"},
    ],
)
def test_what_is_right(config: dict[str, str | None]) -> None:
    assert errors_of(config) == []


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({}, "Must configure one of topics or topics.regex"),
        ({"topics": "a", "topics.regex": "b"}, "mutually exclusive"),
        ({"topics": "a,dead", DEAD_LETTERS: "dead"}, "may not be included in the list of topics"),
        ({"topics.regex": "d.*", DEAD_LETTERS: "dead"}, "may not be matched by the regex"),
    ],
)
def test_what_is_wrong(config: dict[str, str | None], message: str) -> None:
    errors = errors_of(config)
    assert errors and all(message in error for error in errors)
