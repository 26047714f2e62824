from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kafkapy.clients import java_clients
from kafkapy.common.config_def import ConfigException
from kafkapy.connect.clients import arguments_for
from kafkapy.connect.herder.config_providers import ConfigData, ConfigProvider, make_providers
from kafkapy.connect.herder.config_reload import ConfigReloads, restarter
from kafkapy.connect.herder.config_transformer import ProviderTransformer, resolve_worker_configs

JAVA = "org.apache.kafka.common.config.provider."


class OwnProvider(ConfigProvider):
    def get(self, path: str, keys: object) -> dict[str, str]:
        return {"k": f"{path}!"}


def transformer(tmp_path: Path) -> ProviderTransformer:
    (tmp_path / "p.properties").write_text("user=me\npassword=s3cret\n")
    (tmp_path / "token").write_text("abc\n")
    return ProviderTransformer(
        make_providers(
            {
                "config.providers": "file, dir,own",
                "config.providers.file.class": f"{JAVA}FileConfigProvider",
                "config.providers.file.param.allowed.paths": str(tmp_path),
                "config.providers.dir.class": f"{JAVA}DirectoryConfigProvider",
                "config.providers.own.class": f"{__name__}:OwnProvider",
            }
        )
    )


def test_values_come_from_files_and_directories(tmp_path: Path) -> None:
    found = transformer(tmp_path)(
        "c",
        {
            "login": f"${{file:{tmp_path}/p.properties:user}}:${{file:{tmp_path}/p.properties:password}}",
            "token": f"${{dir:{tmp_path}:token}}",
            "own": "${own:x:k}",
            "none": None,
        },
    )
    assert found == {"login": "me:s3cret", "token": "abc\n", "own": "x!", "none": None}


def test_what_is_not_known_or_not_allowed_stays(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    config = {
        "a": f"${{file:{tmp_path}/p.properties:other}}",
        "b": "${file:/etc/hostname:x}",
        "c": f"${{dir:{tmp_path}/inner:../token}}",
        "d": "${nope:x:y}",
    }
    assert transformer(tmp_path)(None, config) == config


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigException, match="Could not read properties from file"):
        transformer(tmp_path)("c", {"a": f"${{file:{tmp_path}/none:k}}"})


def test_variables_of_the_environment_may_be_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APP_A", "1")
    monkeypatch.setenv("OTHER", "2")
    providers = make_providers(
        {
            "config.providers": "env",
            "config.providers.env.class": f"{JAVA}EnvVarConfigProvider",
            "config.providers.env.param.allowlist.pattern": "APP_.*",
        }
    )
    assert providers["env"].get("", ["APP_A", "OTHER"]) == {"APP_A": "1"}
    with pytest.raises(ConfigException, match="Path is not supported"):
        providers["env"].get("p", ["APP_A"])


@pytest.mark.parametrize("name", ["", "org.example.Nope", "kafkapy.connect.storage:TargetState"])
def test_a_provider_that_is_none_is_refused(name: str) -> None:
    with pytest.raises(ConfigException):
        make_providers({"config.providers": "x", "config.providers.x.class": name})


class Lease(ConfigProvider):
    """Its values expire; the path is the time in ms."""

    def get(self, path: str, keys: object) -> ConfigData:
        return ConfigData({"k": "v"}, int(path) if path else None)


class FakeAlarm:
    def __init__(self, seconds: float, action: Callable[[], None]) -> None:
        self.seconds, self.action, self.state = seconds, action, "made"

    def start(self) -> None:
        self.state = "started"

    def cancel(self) -> None:
        self.state = "cancelled"


def test_a_connector_is_restarted_when_the_first_of_its_values_expires() -> None:
    alarms: list[FakeAlarm] = []
    restarted: list[str] = []

    def make(seconds: float, action: Callable[[], None]) -> FakeAlarm:
        alarms.append(FakeAlarm(seconds, action))
        return alarms[-1]

    leases = ProviderTransformer({"lease": Lease()}, ConfigReloads(make))
    leases.reloads.restart = restarted.append
    config = {"a": "${lease:5000:k}", "b": "${lease:3000:k}", "c": "${lease::k}"}
    assert leases("orders", config) == {"a": "v", "b": "v", "c": "v"}
    leases("orders", config)  # the same values once more: a plan replaces the earlier one
    assert [(alarm.seconds, alarm.state) for alarm in alarms] == [(3, "cancelled"), (3, "started")]
    leases(None, config)
    leases("quiet", {**config, "config.action.reload": "NONE"})
    leases("lasting", {"c": "${lease::k}"})
    assert len(alarms) == 2
    alarms[1].action()
    assert restarted == ["orders"]
    leases("orders", config)
    leases.close()
    assert alarms[2].state == "cancelled"


def test_a_restart_that_fails_is_logged() -> None:
    def refuse(connector: str, told: Callable[..., Any]) -> None:
        told(ValueError(f"{connector} is elsewhere"), None)

    restarter(refuse)("orders")


def test_a_workers_clients_need_no_config_providers() -> None:
    configs: dict[str, object] = {"config.providers": "file", "acks": "all"}
    assert arguments_for(java_clients.PRODUCER, configs) == {"acks": "all"}


def test_variables_in_a_workers_own_configs_are_replaced(tmp_path: Path) -> None:
    (tmp_path / "p.properties").write_text("password=s3cret\n")
    configs = {
        "config.providers": "file",
        "config.providers.file.class": f"{JAVA}FileConfigProvider",
        "ssl.key.password": f"${{file:{tmp_path}/p.properties:password}}",
    }
    assert resolve_worker_configs(configs)["ssl.key.password"] == "s3cret"
