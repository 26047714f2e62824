"""What a broker logs in with at the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.errors import KafkaConfigurationError
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.client_config import inter_broker_client_config

SECURITY = "org.apache.kafka.common.security"
JAAS_FILE = f"""
    internal.KafkaServer {{
        {SECURITY}.scram.ScramLoginModule required username="scram-user" password="scram-5ecret";
        {SECURITY}.plain.PlainLoginModule required username="plain-user" password="plain-5ecret" user_alice="x";
    }};
    KafkaServer {{
        {SECURITY}.plain.PlainLoginModule required username="any" password="any-5ecret";
    }};
"""


def config(listener: str, mechanism: str, **more: str) -> KafkaConfig:
    return KafkaConfig(
        {
            "broker.id": "1",
            "zookeeper.connect": "unused:2181",
            "listeners": f"{listener}://127.0.0.1:9092",
            "listener.security.protocol.map": f"{listener}:SASL_PLAINTEXT",
            "inter.broker.listener.name": listener,
            "sasl.enabled.mechanisms": mechanism,
            "sasl.mechanism.inter.broker.protocol": mechanism,
            **more,
        }
    )


@pytest.fixture(autouse=True)
def jaas_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "jaas.conf").write_text(JAAS_FILE)
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={tmp_path}/jaas.conf")


@pytest.mark.parametrize(
    ("listener", "mechanism", "user"),
    [
        ("INTERNAL", "PLAIN", "plain-user"),
        ("INTERNAL", "SCRAM-SHA-256", "scram-user"),
        ("INTERNAL", "SCRAM-SHA-512", "scram-user"),
        ("OTHER", "PLAIN", "any"),
    ],
)
def test_the_jaas_file_has_the_login(listener: str, mechanism: str, user: str) -> None:
    made = inter_broker_client_config(config(listener, mechanism), "1", 1000)
    assert (made.sasl_plain_username, made.sasl_plain_password) == (user, f"{user.removesuffix('-user')}-5ecret")


def test_a_config_goes_before_the_file() -> None:
    jaas = f'{SECURITY}.plain.PlainLoginModule required username="own" password="own-5ecret";'
    more = {"listener.name.internal.plain.sasl.jaas.config": jaas}
    assert inter_broker_client_config(config("INTERNAL", "PLAIN", **more), "1", 1000).sasl_plain_username == "own"


def test_a_section_without_the_mechanism() -> None:
    with pytest.raises(KafkaConfigurationError, match=r"sasl\.jaas\.config"):
        inter_broker_client_config(config("OTHER", "SCRAM-SHA-256"), "1", 1000)
