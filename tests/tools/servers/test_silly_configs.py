"""Whatever stands in a properties file: a value is taken or refused with a sentence, and nothing else is raised."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.tools.servers import kafka_server as kafka_server_start
from kafkapy.tools.zookeeper import server_start as zookeeper_server_start

pytestmark = pytest.mark.usefixtures("logging_restored")

OF_KAFKAPY = {
    "kafkapy.metrics.listener": "host:99999",
    "kafkapy.metrics.max.series": "x",
    "kafkapy.watchdog.enable": "x",
}
SILLY = (
    *(
        "",
        " ",
        ",",
        "=",
        ":",
        "/",
        "[",
        "\x00",
        "\u0660",
        "é",
        "x" * 10_000,
        "-1",
        "0",
        "1",
        "-0.5",
        "1e400",
        "NaN",
        "true",
    ),
    *(
        "2147483648",
        "-9223372036854775809",
        "99999",
        "PLAINTEXT",
        "PLAINTEXT://:99999",
        "PLAINTEXT://[::1:1",
        "SSL://:1",
    ),
    *("a:b", "a:1,a:1", "host:99999", "PLAINTEXT:PLAINTEXT,PLAINTEXT:SSL", "/dev/null", "0.7", "3.9-IV99", "gzip"),
)
ON_LISTENERS = ("max.connections", "num.network.threads", "ssl.client.auth", "sasl.enabled.mechanisms")


@pytest.mark.parametrize("value", SILLY, ids=lambda value: repr(value[:20]))
def test_each_config_takes_or_refuses_it(value: str) -> None:
    names = [*KafkaConfig.definition, *(f"listener.name.plaintext.{name}" for name in ON_LISTENERS)]
    for name in names:
        try:
            properties = {"zookeeper.connect": "z:1", "broker.id": "0", name: value}
            config = KafkaConfig.from_properties(properties)
        except ConfigException as error:
            assert str(error)
            assert "\n" not in str(error)
            continue
        assert config.values_text()
        assert config.log_config_defaults()
        assert all(0 <= e.port <= 65535 for e in (*config.listeners, *config.advertised_listeners))


@pytest.mark.parametrize(("name", "value"), OF_KAFKAPY.items())
def test_so_do_kafkapys_own(name: str, value: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "server.properties").write_text(f"zookeeper.connect=z:1\n{name}={value}\n")
    assert kafka_server_start.main([str(tmp_path / "server.properties")]) == 1
    (sentence,) = capsys.readouterr().err.splitlines()
    assert name in sentence
    assert value in sentence


@pytest.mark.parametrize("file", ["/no/such/file", "/", "/proc/self/mem", "/dev/null", "/proc/self/comm"])
@pytest.mark.parametrize("server", [kafka_server_start, zookeeper_server_start])
def test_a_file_that_is_none_is_told(server: object, file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert server.main([file]) == 1  # type: ignore[attr-defined]
    (sentence,) = capsys.readouterr().err.splitlines()
    assert file in sentence or "zookeeper.connect" in sentence


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("tickTime=2000", "dataDir is missing: the directory of ZooKeeper's data"),
        ("dataDir=/d\nclientPort=99999", "clientPort=99999 is no port: it is a number from 1 to 65535"),
        ("dataDir=/d\nclientPort=x", "clientPort=x is no port: it is a number from 1 to 65535"),
        ("dataDir=/d\nclientPort=2181\ntickTime=fast", "tickTime=fast is no number"),
        ("dataDir=/d\nclientPort=2181\ntickTime=\\u00b2", "tickTime=² is no number"),
    ],
)
def test_zookeepers_file_is_looked_at(
    line: str, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "zookeeper.properties"
    file.write_text(f"{line}\n")
    assert zookeeper_server_start.main([str(file)]) == 1
    assert capsys.readouterr().err == f"{file}: {sentence}\n"


def test_bytes_that_are_no_text_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "server.properties"
    file.write_bytes(b"zookeeper.connect=\\u12x\n\xff\xfe=\x80")
    assert kafka_server_start.main([str(file)]) == 1
    assert capsys.readouterr().err == f"{file}: Malformed \\uxxxx encoding.\n"
