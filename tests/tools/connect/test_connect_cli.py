"""`kafkapy-connect` against a cluster in memory."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from kafkapy.connect.connect_client import ConnectRequestError
from kafkapy.tools.connect import connect_cli

SINK = {"connector.class": "FileStreamSink", "topics": "t"}


class Cluster:
    """What the client does, on dictionaries; `calls` are the changes."""

    def __init__(self) -> None:
        self.configs: dict[str, dict[str, Any]] = {}
        self.states: dict[str, str] = {}
        self.errors: list[str] = []
        self.calls: list[tuple[Any, ...]] = []

    def connectors(self) -> dict[str, Any]:
        return {
            name: {"info": {"type": "sink", "config": config}, "status": self.status(name)}
            for name, config in self.configs.items()
        }

    def status(self, name: str) -> dict[str, Any]:
        if name not in self.configs:
            raise ConnectRequestError(f"No status found for connector {name}", 404)
        state = self.states.get(name, "RUNNING")
        task = {"id": 0, "state": state, "worker_id": "w:1"}
        if state == "FAILED":
            task["trace"] = "org.example.Error: no\n\tat line 1"
        return {"name": name, "connector": {"state": "RUNNING", "worker_id": "w:1"}, "tasks": [task]}

    def get(self, *parts: str, **query: Any) -> Any:
        if parts == ("admin", "loggers"):
            return {"root": {"level": "INFO"}}
        if parts[0] == "connectors":
            return self.status(parts[1])
        assert parts == ("connector-plugins",)
        return [{"type": "sink", "class": "org.example.Sink", "version": "1"}]

    def path(self, *parts: str) -> str:
        return "/" + "/".join(parts)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        self.calls.append((method, path, body))
        return ["kafkapy.connect"]

    def validate(self, connector_class: str, config: Mapping[str, str]) -> dict[str, Any]:
        return {"configs": [{"value": {"name": "topics", "errors": self.errors}}]}

    def create(self, name: str, config: dict[str, Any], state: str | None) -> None:
        self.calls.append(("create", name, state))
        self.configs[name] = config

    def put_config(self, name: str, config: dict[str, Any]) -> None:
        self.calls.append(("put", name))
        self.configs[name] = config

    def delete(self, name: str) -> None:
        self.calls.append(("delete", name))
        del self.configs[name]

    def change_state(self, name: str, action: str) -> None:
        self.calls.append((action, name))

    def restart(self, name: str, tasks: bool, only_failed: bool) -> None:
        self.calls.append(("restart", name, tasks, only_failed))

    def restart_task(self, name: str, task: int) -> None:
        self.calls.append(("restart task", name, task))

    def offsets(self, name: str) -> list[dict[str, Any]]:
        return [{"partition": {"filename": "f"}, "offset": {"position": 3}}]

    def alter_offsets(self, name: str, offsets: list[Any]) -> str:
        self.calls.append(("alter", name, offsets))
        return "altered"

    def reset_offsets(self, name: str) -> str:
        self.calls.append(("reset", name))
        return "reset"


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    made = Cluster()
    monkeypatch.setattr(connect_cli, "client_of", lambda given: made)
    return made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.json").write_text(json.dumps({"name": "a", "config": SINK, "initial_state": "STOPPED"}))
    (tmp_path / "b.properties").write_text("name=b\nconnector.class=FileStreamSink\ntopics=u\ndb.password=new\n")
    (tmp_path / "README.md").write_text("no connector")
    return tmp_path


def test_a_plan_changes_nothing_and_hides_secrets(
    cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.configs = {"b": {**SINK, "name": "b", "db.password": "old"}, "c": SINK}
    assert connect_cli.main(["plan", str(folder)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "+ a",
        "    + connector.class = FileStreamSink",
        "    + name = a",
        "    + topics = t",
        "~ b",
        "    ~ db.password = ******** -> ********",
        "    ~ topics = t -> u",
        "1 to create, 1 to change",
    ]
    assert connect_cli.main(["plan", str(folder), "--check", "--prune"]) == connect_cli.DIFFERENT
    assert "- c" in capsys.readouterr().out and cluster.calls == []


def test_apply_makes_the_cluster_as_the_folder(
    cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.configs = {"b": {**SINK, "name": "b"}, "c": SINK}
    assert connect_cli.main(["apply", str(folder), "--prune", "--yes"]) == 0
    assert cluster.calls == [("create", "a", "STOPPED"), ("put", "b"), ("delete", "c")]
    assert connect_cli.main(["plan", str(folder), "--check", "--prune"]) == 0
    assert "Nothing to do, 2 as they should be" in capsys.readouterr().out


def test_apply_changes_nothing_if_a_config_is_wrong_or_nobody_agrees(
    cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.errors = ["it is wrong"]
    assert connect_cli.main(["apply", str(folder), "--yes"]) == 1
    assert (
        "Nothing was changed, because the worker finds errors: a: topics: it is wrong; b: " in capsys.readouterr().err
    )
    monkeypatch.setattr("sys.stdin", argparse.Namespace(isatty=lambda: False))
    assert connect_cli.main(["apply", str(folder)]) == 1
    assert "--yes applies the plan" in capsys.readouterr().err and cluster.calls == []


def test_two_files_of_one_connector_are_refused(
    cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "z.properties").write_text("name=a\n")
    assert connect_cli.main(["plan", str(folder)]) == 1
    assert "have a connector of one name: a" in capsys.readouterr().err
    assert connect_cli.main(["plan", str(folder / "nothing")]) == 1


def test_states_and_failures(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.configs = {"a": SINK, "long-name": SINK}
    assert connect_cli.main(["status"]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "NAME       TASK  STATE    WORKER",
        "a                RUNNING  w:1",
        "           0     RUNNING  w:1",
    ]
    cluster.states["a"] = "FAILED"
    assert connect_cli.main(["status", "a"]) == connect_cli.DIFFERENT
    assert capsys.readouterr().out.endswith("\na, task 0: org.example.Error: no\n")
    assert connect_cli.main(["--json", "status", "a"]) == connect_cli.DIFFERENT
    assert json.loads(capsys.readouterr().out)[0]["tasks"][0]["state"] == "FAILED"
    assert connect_cli.main(["status", "nope"]) == 1
    assert capsys.readouterr().err == "No status found for connector nope\n"


def test_changes_of_states(cluster: Cluster) -> None:
    for words in ("restart a b --tasks --only-failed", "restart a --task 3", "pause a", "stop a", "resume a"):
        assert connect_cli.main(words.split()) == 0
    assert cluster.calls == [
        ("restart", "a", True, True),
        ("restart", "b", True, True),
        ("restart task", "a", 3),
        ("pause", "a"),
        ("stop", "a"),
        ("resume", "a"),
    ]


def test_offsets(cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert connect_cli.main(["--json", "offsets", "show", "a"]) == 0
    shown = capsys.readouterr().out
    (tmp_path / "offsets.json").write_text(shown)
    assert connect_cli.main(["offsets", "alter", "a", "--file", str(tmp_path / "offsets.json")]) == 0
    assert connect_cli.main(["offsets", "reset", "a"]) == 0
    assert cluster.calls == [("alter", "a", json.loads(shown)["offsets"]), ("reset", "a")]
    capsys.readouterr()
    for words, sentence in ((["alter", "a"], "needs --file"), (["alter", "a", "--file", "/no"], "/no: No such file")):
        assert connect_cli.main(["offsets", *words]) == 1
        assert sentence in capsys.readouterr().err


def test_plugins_loggers_and_files(cluster: Cluster, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cluster.configs = {"a": SINK}
    assert connect_cli.main(["list"]) == connect_cli.main(["plugins"]) == connect_cli.main(["logs"]) == 0
    printed = capsys.readouterr().out
    assert "a     sink  FileStreamSink" in printed and "org.example.Sink  1" in printed and "root    INFO" in printed
    assert connect_cli.main(["logs", "kafkapy.connect", "debug", "--cluster"]) == 0
    assert cluster.calls == [("PUT", "/admin/loggers/kafkapy.connect?scope=cluster", {"level": "debug"})]
    assert connect_cli.main(["validate", str(folder / "a.json")]) == 0
    cluster.errors = ["no"]
    assert connect_cli.main(["validate", str(folder / "a.json")]) == 1


def test_a_user_needs_a_password(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(connect_cli.PASSWORD, raising=False)
    assert connect_cli.main(["--user", "alice", "list"]) == 1
    assert "--user needs a password" in capsys.readouterr().err
    assert connect_cli.main(["--ca", "/nowhere.pem", "list"]) == 1
    assert "--ca, --cert or --key cannot be used" in capsys.readouterr().err
