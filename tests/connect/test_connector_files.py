"""`kafkapy.connect.connector_files`: a connector from a file."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.connect.connector_files import ConnectorFile, read_connector_file
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.storage import TargetState

CONFIG = {"name": "a", "topic": "t", "tasks.max": "1"}


def write(folder: Path, name: str, text: str, encoding: str = "utf-8") -> str:
    path = folder / name
    path.write_text(text, encoding)
    return str(path)


@pytest.mark.parametrize(
    ("name", "text", "encoding"),
    [
        ("a.json", '{"name": "a", "topic": "t", "tasks.max": 1}', "utf-8"),
        ("a.json", '{"name": "a", "config": {"topic": "t", "tasks.max": "1"}}', "utf-8"),
        ("a.json", '{"name": "a", "topic": "t", "tasks.max": 1}', "utf-8-sig"),
        ("a.config", '{"name": "a", "topic": "t", "tasks.max": 1}', "utf-8"),
        ("a.properties", "name=a\ntopic=t\ntasks.max=1\n", "utf-8"),
    ],
)
def test_the_kinds_of_files(tmp_path: Path, name: str, text: str, encoding: str) -> None:
    assert read_connector_file(write(tmp_path, name, text, encoding)) == ConnectorFile("a", dict(CONFIG), None)


def test_the_first_state_of_a_request(tmp_path: Path) -> None:
    text = '{"name": "a", "config": {"topic": "t"}, "initial_state": "PAUSED"}'
    assert read_connector_file(write(tmp_path, "a.json", text)).state is TargetState.PAUSED


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.json", '{"name": "a", "topic": "t"', "is not valid JSON: .*line 1 column 27"),
        ("a.json", '{"topic": "t"}', "is missing the mandatory 'name' configuration"),
        ("a.properties", "topic=t\n", "is missing the mandatory 'name' configuration"),
        ("a.json", '{"name": "a", "config": {"name": "b"}}', "doesn't match the one specified in 'name'"),
    ],
)
def test_what_is_refused(tmp_path: Path, name: str, text: str, message: str) -> None:
    with pytest.raises(ConnectException, match=message):
        read_connector_file(write(tmp_path, name, text))
