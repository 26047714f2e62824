"""kafka-configs --zookeeper before the first broker starts. Sentences are Apache Kafka 3.9.1's."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from kafkapy.common.config_def import Password
from kafkapy.security.password_encoder import PasswordEncoder
from kafkapy.security.scram import parse_credential
from kafkapy.tools.configs import configs
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from tests.zk.embedded.server_in_thread import ServerInThread

KEY = "listener.name.tls.ssl.keystore.password"


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> Iterator[KafkaZkClient]:
    monkeypatch.delenv("KAFKA_OPTS", raising=False)
    with ServerInThread() as server:
        opened = KafkaZkClient.connect(server.server.address, 20_000, 20_000)
        try:
            yield opened
        finally:
            opened.close()


def run(client: KafkaZkClient, *words: str) -> int:
    return configs.main(["--zookeeper", client._client.connect, *words])


ALICE = ("--entity-type", "users", "--entity-name", "alice")
BROKER = ("--entity-type", "brokers", "--entity-name", "0")


def test_credentials_of_a_user(client: KafkaZkClient, capsys: pytest.CaptureFixture[str]) -> None:
    added = "SCRAM-SHA-256=[iterations=8192,password=pw],SCRAM-SHA-512=[password=pw2]"
    assert run(client, "--alter", *ALICE, "--add-config", added) == 0
    out = capsys.readouterr().out
    assert out.startswith("Warning: --zookeeper is deprecated and will be removed in a future version of Kafka.\n")
    assert out.endswith("Completed updating config for entity: user-principal 'alice'.\n")
    stored = client.get_entity_configs("users", "alice")
    assert parse_credential(stored["SCRAM-SHA-256"]).iterations == 8192
    assert parse_credential(stored["SCRAM-SHA-512"]).iterations == 4096
    (bell,) = client.get_children("/config/changes")
    assert json.loads(client.get_data_and_version(f"/config/changes/{bell}")[0] or b"")["entity_path"] == "users/alice"
    assert run(client, "--alter", *ALICE, "--delete-config", "SCRAM-SHA-512") == 0
    assert run(client, "--describe", "--entity-type", "users") == 0
    assert "Configs for user-principal 'alice' are SCRAM-SHA-256=salt=" in capsys.readouterr().out


def test_configs_of_a_broker_with_a_password(client: KafkaZkClient, capsys: pytest.CaptureFixture[str]) -> None:
    added = f"{KEY}=store-pw,log.cleaner.threads=2,password.encoder.secret=enc,password.encoder.iterations=8192"
    assert run(client, "--alter", *BROKER, "--add-config", added) == 0
    assert "Completed updating config for entity: brokers '0'." in capsys.readouterr().out
    stored = client.get_entity_configs("brokers", "0")
    assert set(stored) == {KEY, "log.cleaner.threads"}
    assert "iterations:8192" in stored[KEY]
    assert PasswordEncoder(Password("enc")).decode(stored[KEY]).value == "store-pw"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("--alter", *ALICE, "--add-config", "producer_byte_rate=10"),
            "requirement failed: --bootstrap-server option must be specified to update users configs: "
            "{add: {producer_byte_rate=10}, delete: List()}. User configuration updates using ZooKeeper are only supported "
            "for SCRAM credential updates.",
        ),
        (
            ("--alter", *BROKER, "--add-config", f"{KEY}=store-pw"),
            f"requirement failed: password.encoder.secret must be specified to update Set({KEY}). Other password",
        ),
        (
            ("--alter", "--entity-type", "brokers", "--entity-default", "--add-config", f"{KEY}=store-pw"),
            f"Cannot update these configs at default cluster level, broker id must be specified: Set({KEY})",
        ),
        (
            ("--alter", *BROKER, "--add-config", "broker.id=3"),
            "Cannot update these configs dynamically: Set(broker.id)",
        ),
        (("--alter", *ALICE, "--delete-config", "SCRAM-SHA-256"), "Invalid config(s): SCRAM-SHA-256"),
        (("--alter", *ALICE, "--add-config", "SCRAM-SHA-256=store-pw"), "Invalid credential property SCRAM-SHA-256"),
        (
            ("--describe", "--entity-type", "brokers"),
            "Error parsing broker . The broker's Entity Name must be a single integer value",
        ),
        (("--describe", *BROKER, "--all"), "--bootstrap-server must be specified for --all"),
        (
            ("--describe", *BROKER, "--bootstrap-server", "x:1"),
            "Only one of --bootstrap-server, --boostrap-controller, and --zookeeper can be specified",
        ),
    ],
)
def test_refusals(
    client: KafkaZkClient, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], sentence: str
) -> None:
    assert run(client, *words) == 1
    err = capsys.readouterr().err
    assert sentence in err
    assert "store-pw" not in err
    assert client.get_children("/config/changes") == []


def test_a_broker_that_runs_is_left_alone(client: KafkaZkClient, capsys: pytest.CaptureFixture[str]) -> None:
    node = {"version": 5, "host": "a", "port": 1, "endpoints": ["PLAINTEXT://a:1"], "features": {}, "timestamp": "1"}
    node |= {"listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT"}, "jmx_port": -1}
    client.create_recursive("/brokers/ids/0", json.dumps(node).encode())
    assert run(client, "--alter", *BROKER, "--add-config", "log.cleaner.threads=3") == 1
    assert " - broker 0 is running. Broker configuration operations using ZooKeeper are only" in capsys.readouterr().err
    defaults = ("--entity-type", "brokers", "--entity-default")
    assert run(client, "--alter", *defaults, "--add-config", "log.cleaner.threads=3") == 1
    assert " - 1 brokers are running." in capsys.readouterr().err
