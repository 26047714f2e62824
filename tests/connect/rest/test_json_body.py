from __future__ import annotations

import pytest

from kafkapy.connect.rest.json_body import (
    CreateRequest,
    JsonBodyError,
    connector_offsets,
    read_body,
    string_map,
    string_maps,
)
from kafkapy.connect.storage import TargetState


def test_values_of_a_config_become_text() -> None:
    body = b'{"a": 1, "b": 1.50, "c": true, "d": null, "e": "x", "e": "y"} \n'
    assert string_map(read_body(body)) == {"a": "1", "b": "1.50", "c": "true", "d": None, "e": "y"}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be", "utf-32-le"])
def test_the_encoding_is_detected(encoding: str) -> None:
    assert read_body('{"a": "ü"}'.encode(encoding)) == {"a": "ü"}


@pytest.mark.parametrize(
    "body", [b"", b" ", b"{", b"hello", b"\xff", b"{} x", b"{} {}", b"1 2", b'{"a":' * 200, b"NaN"]
)
def test_what_is_no_json_is_refused(body: bytes) -> None:
    with pytest.raises(JsonBodyError):
        read_body(body)


@pytest.mark.parametrize("body", [b"[]", b'"x"', b'{"a": {}}', b'{"a": [1]}'])
def test_what_is_no_map_of_texts_is_refused(body: bytes) -> None:
    with pytest.raises(JsonBodyError):
        string_map(read_body(body))


def test_a_connector_may_begin_paused() -> None:
    request = CreateRequest.of(read_body(b'{"name": "a", "config": {"x": 1}, "initial_state": "stopped"}'))
    assert request is not None and request.target_state is TargetState.STOPPED
    assert request.to_json() == {"name": "a", "config": {"x": "1"}, "initial_state": "STOPPED"}
    for body in (b'{"colour": 1}', b'{"initial_state": "asleep"}', b"[]"):
        with pytest.raises(JsonBodyError):
            CreateRequest.of(read_body(body))


def test_offsets_keep_their_numbers() -> None:
    body = b'{"offsets": [{"partition": {"f": "x"}, "offset": {"p": 5}}, {"partition": null}]}'
    offsets = connector_offsets(read_body(body, with_numbers=True))
    assert offsets is not None and offsets[0].offset == {"p": 5} and offsets[1].partition is None
    assert connector_offsets({}) is None
    wrong: list[object] = [{"offsets": {}}, {"x": 1}, {"offsets": [{"z": 1}]}, {"offsets": [{"offset": 5}]}]
    for value in wrong:
        with pytest.raises(JsonBodyError):
            connector_offsets(value)


def test_configs_of_tasks_are_a_list() -> None:
    assert string_maps(read_body(b'[{"a": 1}]')) == [{"a": "1"}]
    with pytest.raises(JsonBodyError):
        string_maps({})
