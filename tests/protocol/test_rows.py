"""Structs as rows: by place, by name, taken apart."""

from __future__ import annotations

import pytest

from kafkapy.protocol.messages.create_partitions import CreatePartitionsResponse


def test_fields_by_place_and_by_name() -> None:
    result = CreatePartitionsResponse.CreatePartitionsTopicResult
    response = CreatePartitionsResponse(results=[result(name="t", error_code=3, error_message="no")])
    row = response.results[0]
    assert (row[0], row["error_code"], row[-1]) == ("t", 3, "no")
    name, code, message = row
    assert (name, code, message) == ("t", 3, "no")
    with pytest.raises(IndexError):
        row[3]
