"""Names, types, defaults and validators of configs, beside Java's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from kafkapy.common.config_def import to_text
from kafkapy.connect.config import NO_DEFAULT, ConfigDef, ConfigKey, convert_to_string
from kafkapy.mirror.config.checkpoint_config import checkpoint_config_def
from kafkapy.mirror.config.heartbeat_config import heartbeat_config_def
from kafkapy.mirror.config.maker_config import maker_config_def
from kafkapy.mirror.config.security_configs import CLIENT_CONFIG_NAMES
from kafkapy.mirror.config.source_config import source_config_def

ROWS = [line.split("\t") for line in (Path(__file__).parent / "data/java_definitions.tsv").read_text().splitlines()]
OF_THE_REST_SERVER = {
    *("listeners", "rest.advertised.host.name", "rest.advertised.port", "rest.advertised.listener"),
    *("access.control.allow.origin", "access.control.allow.methods", "response.http.headers.config", "ssl.client.auth"),
}


def shown(key: ConfigKey) -> list[str]:
    default = "<required>" if key.default is NO_DEFAULT else "null" if key.default is None else to_text(key.default)
    if key.default is not NO_DEFAULT and isinstance(key.default, list):
        default = f"[{', '.join(key.default)}]"
    if isinstance(key.default, type):
        default = f"class {convert_to_string(key.default)}"
    return [key.name, key.type.name, default, key.importance.name]


@pytest.mark.parametrize(
    ("kind", "definitions"),
    [
        ("source", source_config_def),
        ("checkpoint", checkpoint_config_def),
        ("heartbeat", heartbeat_config_def),
        ("maker", maker_config_def),
    ],
)
def test_definitions_are_those_of_java(kind: str, definitions: Callable[[], ConfigDef]) -> None:
    keys = definitions()
    wanted = {row[1]: row[1:5] for row in ROWS if row[0] == kind and row[1] not in OF_THE_REST_SERVER}
    assert list(keys) == list(wanted)
    assert {name: shown(keys[name]) for name in keys} == wanted
    validators = {row[1]: row[-1] for row in ROWS if row[0] == kind}
    for name in keys:
        if not name.endswith("converter") and name not in ("transforms", "predicates"):
            assert (str(keys[name].validator) if keys[name].validator else "null") == validators[name], name
    assert all(keys[name].doc for name in keys)


def test_configs_that_all_clients_have() -> None:
    assert {row[1] for row in ROWS if row[0] == "client"} == CLIENT_CONFIG_NAMES
