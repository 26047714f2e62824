"""Topics in a few characters."""

from __future__ import annotations

import pytest

from kafkapy.testing.topics import WantedTopic, parse_topics


def test_a_list_of_words() -> None:
    assert parse_topics("clicks:6, users:3:compact,plain") == [
        WantedTopic("clicks", 6),
        WantedTopic("users", 3, {"cleanup.policy": "compact"}),
        WantedTopic("plain"),
    ]


def test_configs_of_a_topic() -> None:
    (topic,) = parse_topics("t:1:compact;retention.ms=1000")
    assert topic.config == {"cleanup.policy": "compact", "retention.ms": "1000"}


def test_other_forms() -> None:
    assert parse_topics({"a": 2}) == parse_topics(["a:2"]) == parse_topics([WantedTopic("a", 2)])
    assert parse_topics(None) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (":3", "names no topic"),
        ("a:x", "'x' is no number of partitions"),
        ("a:0", "'0' is no number of partitions"),
        ("a:1:big", "'big' is no config of a topic"),
        ("a,b,a:2", "named twice: a"),
    ],
)
def test_a_mistake_is_named(text: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        parse_topics(text)
