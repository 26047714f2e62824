"""The registry's configuration, its election, and how the process fails."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.registry.config import RegistryConfig
from kafkapy.registry.election import InstanceIdentity, elect
from kafkapy.tools.schema_registry_start import main
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.usefixtures("logging_restored")

SERVERS = {"kafkastore.bootstrap.servers": "PLAINTEXT://a:1,b:2"}


def test_defaults() -> None:
    config = RegistryConfig.of(SERVERS)
    assert (config.topic, config.replication_factor, config.level, config.eligible) == ("_schemas", 3, "BACKWARD", True)
    assert config.clients["bootstrap_servers"] == ["a:1", "b:2"]
    assert config.group_id == "schema-registry"
    assert config.warnings == []


def test_clients_have_configs_of_their_own() -> None:
    config = RegistryConfig.of(SERVERS | {"kafkastore.client.id": "sr", "kafkastore.odd": "1", "debug": "true"})
    assert config.clients["client_id"] == "sr"
    assert len(config.warnings) == 2


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({}, "kafkastore.bootstrap.servers is missing"),
        ({**SERVERS, "schema.compatibility.level": "some"}, "backward"),
        ({**SERVERS, "kafkastore.connection.url": "zk:1"}, "election by ZooKeeper is gone"),
        ({**SERVERS, "inter.instance.protocol": "https"}, "no listener has it"),
        ({**SERVERS, "mode.mutability": "perhaps"}, "true or false"),
        ({**SERVERS, "kafkastore.security.protocol": "ODD"}, "ODD"),
    ],
)
def test_bad_configs(properties: dict[str, str], why: str) -> None:
    with pytest.raises(ConfigException, match=why):
        RegistryConfig.of(properties)


def test_a_sentence_and_status_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "sr.properties"
    file.write_text("listeners=nowhere\nkafkastore.bootstrap.servers=a:1\n")
    for arguments in ([str(file)], [str(tmp_path / "none.properties")], [], ["--what"]):
        assert main(arguments) == 1
        assert len(capsys.readouterr().err.splitlines()) == 1


def test_in_the_background(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it says is in the log directory."""
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def remember(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        return started[0]

    monkeypatch.setenv("LOG_DIR", str(tmp_path / "logs"))
    monkeypatch.setattr(subprocess, "Popen", remember)
    file = tmp_path / "sr.properties"
    file.write_text("kafkastore.bootstrap.servers=a:1\n")
    assert main(["-daemon", str(file), "--override", "listeners=nowhere"]) == 0
    assert started[0].wait(HANG_SECONDS) == 1
    (line,) = (tmp_path / "logs" / "schema-registry.out").read_text().splitlines()
    assert "nowhere" in line


def test_election() -> None:
    one, two = InstanceIdentity("one", 1), InstanceIdentity("two", 2)
    assert elect([("b", one), ("a", two)])[:2] == ("a", two)
    assert elect([("b", one._replace(is_leader=True)), ("a", two)])[0] == "b", "the primary stays it"
    assert elect([("a", one._replace(eligible=False)), ("b", two)])[0] == "b"
    assert elect([("a", one._replace(eligible=False))]) == (None, None, 0)
    assert elect([("a", one), ("b", one)])[2] == 1, "two have one URL"


def test_identities_are_confluents() -> None:
    text = {"version": 1, "host": "h", "port": 8081, "master_eligibility": True, "scheme": "https", "leader": False}
    identity = InstanceIdentity.from_json(text)
    assert identity.to_json() == text
    assert identity.url == "https://h:8081"
    assert InstanceIdentity("::1", 1).url == "http://[::1]:1"
