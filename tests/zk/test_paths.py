"""Paths that ZooKeeper takes, and what it says of others."""

from __future__ import annotations

import pytest

from kafkapy.zk.paths import is_valid, reason_invalid


@pytest.mark.parametrize("path", ["/", "/a", "/a/b", "/a/...", "/a/.b", "/a/..b/c.", "/é", "/a/ "])
def test_paths_that_are_taken(path: str) -> None:
    assert (is_valid(path), reason_invalid(path)) == (True, None)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/config/topics/..", 'Invalid path string "/config/topics/.." caused by relative paths not allowed @16'),
        ("/a/.", 'Invalid path string "/a/." caused by relative paths not allowed @3'),
        ("/../a", 'Invalid path string "/../a" caused by relative paths not allowed @2'),
        ("/a//b", 'Invalid path string "/a//b" caused by empty node name specified @3'),
        ("/a\0", 'Invalid path string "/a\0" caused by null character not allowed @2'),
        ("/a\x7f", 'Invalid path string "/a\x7f" caused by invalid character @2'),
        ("/\U0001f600", 'Invalid path string "/\U0001f600" caused by invalid character @1'),
        ("/a/", "Path must not end with / character"),
        ("a", "Path must start with / character"),
        ("", "Path must start with / character"),
    ],
)
def test_paths_that_are_refused(path: str, reason: str) -> None:
    assert (is_valid(path), reason_invalid(path)) == (False, reason)
