"""kafka-streams-application-reset: its options and its files; what it does is tried in tests/streams/runtime."""

from __future__ import annotations

import pytest

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.streams_application_reset import is_internal_topic, main, parse_plan


@pytest.mark.parametrize(
    ("topic", "internal"),
    [
        ("app-counts-changelog", True),
        ("app-counts-repartition", True),
        ("app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000004-topic", True),
        ("app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000012-topic", True),
        ("app-join-subscription-registration-topic", True),
        ("app-join-subscription-response-topic", True),
        ("app-KTABLE-FK-JOIN-SUBSCRIPTION-OTHER-0000000012-topic", False),
        ("app-counts", False),
        ("apple-counts-changelog", False),
        ("other-counts-changelog", False),
    ],
)
def test_internal_topics_are_told_by_their_names(topic: str, internal: bool) -> None:
    assert is_internal_topic(topic, "app") is internal


def test_a_plan_names_an_offset_for_each_partition() -> None:
    assert parse_plan("lines,0,42\nlines,1,7\n") == {TopicPartition("lines", 0): 42, TopicPartition("lines", 1): 7}


@pytest.mark.parametrize("text", ["", "\n", "lines,0", "lines,0,1,2", "lines,a,1", "lines,0,b"])
def test_another_file_is_no_plan(text: str) -> None:
    with pytest.raises(ToolError, match="plan CSV file"):
        parse_plan(text)


def test_one_of_the_ways_to_reset(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--application-id", "app", "--to-earliest", "--shift-by", "-5"]) == 1
    assert "can't be used with option" in capsys.readouterr().err
    assert main(["--input-topics", "lines"]) == 1
    assert 'Missing required argument "[application-id]"' in capsys.readouterr().err
