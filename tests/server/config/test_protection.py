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
            {"create.topic.policy.class.name": "a.B"},
            "create.topic.policy.class.name=a.B, but policies are Java classes, nothing would be refused",
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
    assert start(tmp_path, "alter.config.policy.class.name=a.B\ncreate.topic.policy.class.name=a.C\n") == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "kafkapy cannot enforce this yet, so it is refused: alter.config.policy.class.name=a.B, but policies are Java classes, "
        "nothing would be refused; create.topic.policy.class.name=a.C, but policies are Java classes, nothing would be refused. "
        f"{REMEDY}."
    )


@pytest.mark.parametrize(
    ("properties", "sentence"),
    [
        ("zookeeper.set.acl=true", "zookeeper.set.acl is true, but ZooKeeper client TLS configuration identifying"),
        (
            "zookeeper.ssl.client.enable=true",
            "zookeeper.ssl.client.enable is true, but zookeeper.clientCnxnSocket is not set",
        ),
        (
            "password.encoder.secret=s\npassword.encoder.key.length=100",
            "Invalid value 100 for configuration password.encoder",
        ),
    ],
)
def test_a_way_to_zookeeper_that_cannot_be_protected_as_asked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, properties: str, sentence: str
) -> None:
    monkeypatch.delenv("KAFKA_OPTS", raising=False)
    assert start(tmp_path, properties) == 1
    assert sentence in capsys.readouterr().err
