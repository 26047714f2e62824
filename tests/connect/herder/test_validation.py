"""`kafkapy.connect.herder.validation`: what is refused before a connector is created."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from kafkapy.common.extras import need
from kafkapy.connect.herder.override_policies import make_policy
from kafkapy.connect.herder.validation import validate_config
from kafkapy.connect.plugins import Plugins

SINK = {"name": "a", "topics": "t"}
JDBC = "io.confluent.connect.jdbc.Jdbc"


class Rules:
    """A herder without checks of its own."""

    plugins = Plugins()
    override_policy = make_policy("All")

    @property
    def worker(self) -> Any:
        return self

    @property
    def config_transformer(self) -> None:
        return None

    def check_source(self, connector: Any, config: Any, values: Any) -> None:
        pass

    def check_sink(self, config: Any, values: Any) -> None:
        pass

    def source_uses_own_clients(self, type: str, config: Any) -> bool:
        return False


def errors_of(config: dict[str, str]) -> dict[str, list[str]]:
    infos = validate_config(Rules(), config)
    return {info.value.name: list(info.errors) for info in infos.configs if info.value and info.errors}


@pytest.mark.parametrize(
    ("config", "name", "message"),
    [
        (
            {
                **SINK,
                "connector.class": f"{JDBC}SinkConnector",
                "connection.url": "jdbc:sqlite:a",
                "delete.enabled": "true",
            },
            "connector.class",
            "delete.enabled=true needs pk.mode=record_key",
        ),
        (
            {"name": "a", "connector.class": f"{JDBC}SourceConnector", "connection.url": "jdbc:h2:a"}
            | {"mode": "bulk", "topic.prefix": "a"},
            "connection.url",
            "jdbc:h2: is not known",
        ),
        (
            {**SINK, "connector.class": "kafkapy.connect.ObjectSinkConnector", "store.url": "file:///a"}
            | {"flush.size": "1", "format.class": "Word"},
            "format.class",
            "Expected one of Avro",
        ),
        (
            {**SINK, "connector.class": "kafkapy.connect.FileRotatingSinkConnector", "directory": "here"},
            "directory",
            "Expected an absolute path.",
        ),
    ],
)
def test_values_that_cannot_work_are_shown_at_their_config(config: dict[str, str], name: str, message: str) -> None:
    errors = errors_of(config)
    assert list(errors) == [name]
    assert message in errors[name][0]


def test_a_wrong_value_is_shown_once() -> None:
    config = {**SINK, "connector.class": f"{JDBC}SinkConnector", "connection.url": "jdbc:h2:a", "batch.size": "many"}
    assert list(errors_of(config)) == ["batch.size"]


@pytest.mark.parametrize(
    ("extra", "package", "config"),
    [
        ("connect-sql", "sqlalchemy", {"connector.class": f"{JDBC}SinkConnector", "connection.url": "jdbc:sqlite:a"}),
        (
            "connect-objects",
            "pyarrow",
            {"connector.class": "kafkapy.connect.ObjectSinkConnector", "store.url": "file:///a"}
            | {"flush.size": "1", "format.class": "Parquet"},
        ),
        (
            "connect-http",
            "httpx",
            {"connector.class": "io.confluent.connect.http.HttpSinkConnector", "http.api.url": "http://a/b"},
        ),
        (
            "connect-redis",
            "redis",
            {"connector.class": "com.redis.kafka.connect.RedisSinkConnector", "redis.command": "SET"},
        ),
        (
            "connect-cdc",
            "psycopg2",
            {"connector.class": "io.debezium.connector.postgresql.PostgresConnector", "topic.prefix": "a"}
            | {"database.hostname": "a", "database.user": "a", "database.dbname": "a"},
        ),
    ],
)
def test_a_missing_package_is_named(
    extra: str, package: str, config: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kafkapy.common.extras.find_spec", lambda name: None if name == package else find_spec(name))
    need.cache_clear()
    sink = {} if "debezium" in config["connector.class"] else {"topics": "t"}
    errors = errors_of({"name": "a", **sink, **config})
    assert list(errors) == ["connector.class"]
    assert f"pip install 'kafkapy[{extra}]'" in errors["connector.class"][0]


def test_a_config_that_works_has_no_errors() -> None:
    config = {"connector.class": f"{JDBC}SinkConnector", "connection.url": "jdbc:sqlite:a", "pk.mode": "kafka"}
    assert errors_of({**SINK, **config}) == {}
