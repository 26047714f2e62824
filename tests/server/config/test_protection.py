from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.common.config_def import ConfigException
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.config.protection import REMEDY, UNENFORCED, unenforced
from kafkapy.tools import kafka_server_start

pytestmark = pytest.mark.usefixtures("logging_restored")


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        (
            {"zookeeper.set.acl": "true"},
            "zookeeper.set.acl=true, but znodes are made without ACLs, everybody could change them",
        ),
        (
            {"zookeeper.ssl.client.enable": "true"},
            "zookeeper.ssl.client.enable=true, but ZooKeeper is spoken to without TLS",
        ),
    ],
)
def test_each_is_named_with_its_value(properties: dict[str, str], sentence: str) -> None:
    assert unenforced(properties) == [sentence]


def test_what_asks_for_nothing_is_no_reason_to_stop() -> None:
    properties = {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SPARE:SASL_SSL",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "zookeeper.set.acl": "false",
        "sasl.enabled.mechanisms": "PLAIN",
        "ssl.client.auth": "required",
        "ssl.keystore.location": "/a",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
    }
    assert unenforced(properties) == []


@pytest.mark.parametrize("listeners", ["localhost:9092", "OTHER://:1", "SSL://:99999", ",", "SSL"])
def test_listeners_that_cannot_be_read_are_not_judged_here(listeners: str) -> None:
    assert unenforced({"listeners": listeners}) == []
    with pytest.raises(ConfigException):
        KafkaConfig.from_properties({"zookeeper.connect": "z:1", "listeners": listeners})


def test_all_of_them_are_configs() -> None:
    assert set(UNENFORCED) <= set(KafkaConfig.definition)


def start(tmp_path: Path, properties: str) -> int:
    file = tmp_path / "server.properties"
    file.write_text(f"zookeeper.connect=z:1\n{properties}")
    return kafka_server_start.main([str(file)])


def test_the_broker_stops_with_one_sentence_about_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert start(tmp_path, "zookeeper.set.acl=true\nzookeeper.ssl.client.enable=true\n") == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "kafkapy cannot enforce this yet, so it is refused: zookeeper.set.acl=true, but znodes are made without ACLs, "
        f"everybody could change them; zookeeper.ssl.client.enable=true, but ZooKeeper is spoken to without TLS. {REMEDY}."
    )
