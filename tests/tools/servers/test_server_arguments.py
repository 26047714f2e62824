from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.tools.servers import kafka_server as kafka_server_start
from kafkapy.tools.servers.server_arguments import USAGE, ServerArguments, configs_of, log_levels


@pytest.mark.parametrize(
    ("variable", "config"),
    [
        ("KAFKA_LOG_RETENTION_HOURS", "log.retention.hours"),
        ("KAFKA_LISTENER_NAME_INTERNAL_MAX_CONNECTIONS", "listener.name.internal.max.connections"),
        ("KAFKA_KAFKAPY_METRICS_LISTENER", "kafkapy.metrics.listener"),
        ("KAFKA_A__B___C", "a_b-c"),
        ("KAFKA_A____B_____C", "a-.b-_c"),
        ("KAFKA_KAFKA_METRICS_REPORTERS", "kafka.metrics.reporters"),
    ],
)
def test_a_variable_names_its_config_as_in_apaches_image(variable: str, config: str) -> None:
    assert configs_of({variable: "1"}) == {config: variable}


def test_what_others_read_is_no_config() -> None:
    others = "KAFKA_OPTS KAFKA_HEAP_OPTS KAFKA_LOG4J_OPTS KAFKA_LOG4J_LOGGERS KAFKA_JMX_PORT KAFKAPY_COMPILED LOG_DIR"
    assert configs_of(dict.fromkeys(others.split(), "x")) == {}


def test_the_environment_holds_before_the_file_and_overrides_before_both(tmp_path: Path) -> None:
    (tmp_path / "server.properties").write_text("a=file\nb=file\nc=file\n")
    environment = {"KAFKA_B": "environment", "KAFKA_C": "environment"}
    words = ["server.properties", "--override", "c=override", "--override=d=x=y"]
    without = ServerArguments.parse(words).properties(environment, tmp_path)
    assert without == {"a": "file", "b": "file", "c": "override", "d": "x=y"}
    with_it = ServerArguments.parse([*words, "--env"]).properties(environment, tmp_path)
    assert with_it == {"a": "file", "b": "environment", "c": "override", "d": "x=y"}
    alone = ServerArguments.parse(["--env"]).properties(environment, tmp_path)
    assert alone == {"b": "environment", "c": "environment"}


@pytest.mark.parametrize(
    "words", [[], ["--override", "a=b"], ["a", "b"], ["a", "-x"], ["a", "--override"], ["a", "--override", "=b"]]
)
def test_wrong_arguments_are_told(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match=r"USAGE|property=value is expected"):
        ServerArguments.parse(words)
    assert kafka_server_start.main(words) == 1
    assert "Traceback" not in capsys.readouterr().err


def test_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert kafka_server_start.main(["--help"]) == 0
    assert capsys.readouterr().out == f"{USAGE}\n"


def test_levels_of_the_images() -> None:
    environment = {
        "KAFKA_LOG4J_ROOT_LOGLEVEL": "warn",
        "KAFKA_LOG4J_LOGGERS": "kafka.controller=DEBUG, kafka.log=ERROR",
    }
    assert log_levels(environment) == {"root": "WARN", "kafka.controller": "DEBUG", "kafka.log": "ERROR"}
    assert log_levels({}) == {}
    with pytest.raises(ValueError, match="Invalid level LOUD of kafka in KAFKA_LOG4J_LOGGERS: it is one of DEBUG,"):
        log_levels({"KAFKA_LOG4J_LOGGERS": "kafka=LOUD"})
