from __future__ import annotations

import pytest

from kafkapy.common import metadata_version
from kafkapy.common.topic_names import metric_name, reason_invalid


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("3.9", "3.9-IV0"),
        ("3.9.1", "3.9-IV0"),
        ("3.9-IV0", "3.9-IV0"),
        ("0.10.0", "0.10.0-IV1"),
        ("0.10.2.1", "0.10.2-IV0"),
        ("2.7", "2.7-IV2"),
    ],
)
def test_short_names_are_the_releases_last_version(text: str, version: str) -> None:
    assert metadata_version.from_version_string(text) == version


@pytest.mark.parametrize("text", ["", "9.9", "3.0-IV9", "0.10", "x"])
def test_other_names_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=f"Version {text} is not a valid version"):
        metadata_version.from_version_string(text)


def test_versions_are_ordered_and_have_message_formats() -> None:
    assert metadata_version.is_at_least("3.0", "3.0-IV1")
    assert not metadata_version.is_at_least("3.0-IV0", "3.0-IV1")
    versions = ("0.9.0", "0.10.0", "0.10.2", "0.11.0", "3.9")
    assert [metadata_version.record_version(version) for version in versions] == [0, 1, 1, 2, 2]


@pytest.mark.parametrize("name", ["t", "a.b_c-D9", "x" * 249])
def test_legal_topic_names(name: str) -> None:
    assert reason_invalid(name) is None


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("", "Topic name is invalid: the empty string is not allowed"),
        (".", "Topic name is invalid: '.' is not allowed"),
        ("..", "Topic name is invalid: '..' is not allowed"),
        ("x" * 250, f"Topic name is invalid: the length of '{'x' * 250}' is longer than the max allowed length 249"),
        (
            "a b",
            "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'",
        ),
        (
            "é",
            "Topic name is invalid: 'é' contains one or more characters other than ASCII alphanumerics, "
            "'.', '_' and '-'",
        ),
    ],
)
def test_illegal_topic_names(name: str, reason: str) -> None:
    assert reason_invalid(name) == reason


def test_names_that_share_their_metrics_collide() -> None:
    assert metric_name("a.b") == metric_name("a_b")
    assert metric_name("a-b") != metric_name("a_b")
