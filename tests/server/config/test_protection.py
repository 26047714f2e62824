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
            {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:admin"},
            "authorizer.class.name=kafka.security.authorizer.AclAuthorizer, but there are no ACLs, everybody could do everything",
        ),
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "sasl.enabled.mechanisms=GSSAPI, but clients are not authenticated"),
        (
            {"listener.name.plaintext.sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512"},
            "listener.name.plaintext.sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512, but clients are not authenticated",
        ),
        (
            {"ssl.client.auth": "required"},
            "ssl.client.auth=required, but no listener has TLS, so clients are not authenticated",
        ),
        (
            {"zookeeper.set.acl": "true"},
            "zookeeper.set.acl=true, but znodes are made without ACLs, everybody could change them",
        ),
        (
            {"zookeeper.ssl.client.enable": "true"},
            "zookeeper.ssl.client.enable=true, but ZooKeeper is spoken to without TLS",
        ),
        (
            {"create.topic.policy.class.name": "a.B"},
            "create.topic.policy.class.name=a.B, but policies are Java classes, nothing would be refused",
        ),
        (
            {"client.quota.callback.class": "a.B"},
            "client.quota.callback.class=a.B, but quotas of clients are not enforced",
        ),
    ],
)
def test_each_is_named_with_its_value(properties: dict[str, str], sentence: str) -> None:
    assert unenforced(properties) == [sentence]


@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_listeners_that_would_be_open_to_all(protocol: str) -> None:
    properties = {
        "listeners": "IN://:1,OUT://:2",
        "listener.security.protocol.map": f"IN:PLAINTEXT,OUT:{protocol}",
        "inter.broker.listener.name": "IN",
    }
    assert unenforced(properties) == [f"listener OUT has the security protocol {protocol}, but listeners have no SASL"]


def test_a_listener_with_tls_may_ask_for_certificates() -> None:
    properties = {"listeners": "SSL://:9093", "security.inter.broker.protocol": "SSL", "ssl.client.auth": "required"}
    assert unenforced(properties) == []


def test_what_asks_for_nothing_is_no_reason_to_stop() -> None:
    properties = {
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SPARE:SASL_SSL",
        "authorizer.class.name": "",
        "zookeeper.set.acl": "false",
        "sasl.enabled.mechanisms": "",
        "ssl.client.auth": "none",
        "ssl.keystore.location": "/a",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
    }
    assert unenforced(properties) == []


def test_brokers_that_would_speak_to_each_other_in_the_open() -> None:
    assert unenforced({"security.inter.broker.protocol": "SASL_SSL"}) == [
        "security.inter.broker.protocol=SASL_SSL, but brokers speak to each other without SASL"
    ]


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
    assert start(tmp_path, "listeners=PLAINTEXT://:1,SASL_SSL://:2\nauthorizer.class.name=a.B\n") == 1
    assert capsys.readouterr().err.splitlines()[-1] == (
        "kafkapy cannot enforce this yet, so it is refused: listener SASL_SSL has the security protocol SASL_SSL, but "
        "listeners have no SASL; authorizer.class.name=a.B, but there are no ACLs, everybody could do everything. "
        f"{REMEDY}."
    )


@pytest.mark.parametrize(
    "properties",
    [
        "listeners=SASL_PLAINTEXT://:9093\n",
        "listeners=SASL_SSL://:9093\nsasl.mechanism.inter.broker.protocol=PLAIN\n",
        "listeners=EXTERNAL://:9093\nlistener.security.protocol.map=EXTERNAL:SASL_SSL\n",
    ],
)
def test_the_only_listener_is_named_before_what_follows_from_it(
    properties: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert start(tmp_path, properties) == 1
    sentence = capsys.readouterr().err.splitlines()[-1]
    assert "but listeners have no SASL" in sentence
    assert "listeners=PLAINTEXT://" in sentence
