"""The metadata of committed offsets: bytes of Java, and what is not understood."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkapy.streams.runtime.commit_metadata import CommitMetadata, decode_commit_metadata


def test_the_bytes_are_those_of_java() -> None:
    with_number = CommitMetadata(1, {"k": 2})
    assert base64.b64decode(with_number.encode()).hex() == "02000000000000000100000001000000016b0000000000000002"
    assert decode_commit_metadata(with_number.encode()) == with_number


def test_version_1_has_the_time_alone() -> None:
    assert decode_commit_metadata("AQAAAAAAAAAH") == CommitMetadata(7)


@pytest.mark.parametrize("text", ["", "hello", "AwAAAAAAAAAH", "AgAA", "AgAAAAAAAAAHf///fw=="])
def test_what_is_not_understood_counts_as_unknown(text: str) -> None:
    assert decode_commit_metadata(text) == CommitMetadata()


@given(st.integers(-1, 2**62), st.dictionaries(st.text(), st.integers(-(2**63), 2**63 - 1), max_size=4))
def test_what_is_written_is_read(time: int, numbers: dict[str, int]) -> None:
    metadata = CommitMetadata(time, numbers)
    assert decode_commit_metadata(metadata.encode()) == metadata
