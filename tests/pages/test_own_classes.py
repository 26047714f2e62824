"""The classes of docs/security.md, as the page has them, on a broker with the page's properties: each does what it is for."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from kafkapy.admin.client import AdminClient
from kafkapy.admin.configs import ConfigChange
from kafkapy.admin.results import values_of
from kafkapy.admin.topics import NewTopic
from kafkapy.admin.types import ConfigResource
from kafkapy.common.free_ports import free_ports
from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.errors import PolicyViolationError, SaslAuthenticationFailedError, TopicAuthorizationFailedError
from kafkapy.producer import KafkaProducer
from tests.broker_process import BrokerProcess
from tests.pages.programs import ROOT

SECTION = re.search(r"^## Classes of your own.*?(?=^## )", (ROOT / "docs" / "security.md").read_text(), re.M | re.S)
MODULE, PROPERTIES = (
    re.findall(rf"^```{language}\n(.*?)^```$", SECTION[0] if SECTION else "", re.M | re.S)[0]
    for language in ("py", "properties")
)
USERS = {"admin": "admin-secret", "ALICE": "alice-secret"}

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of the broker; `ours` can be imported, here too."""
    directory = tmp_path_factory.mktemp("ours")
    (directory / "ours.py").write_text(MODULE)
    (directory / "users.json").write_text(json.dumps(USERS))
    host = f"localhost:{free_ports(1)[0]}"
    text = PROPERTIES.replace("localhost:9092", host).replace("/etc/kafka/users.json", str(directory / "users.json"))
    # Two seconds for the quota, in place of eleven.
    process = BrokerProcess(directory, f"embedded:{directory / 'zookeeper'}", quota_window_num="2")
    with open(directory / "server.properties", "a") as properties:
        properties.write(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join((str(directory), str(ROOT))))
        patch.syspath_prepend(str(directory))
        process.start()
        try:
            yield host
        finally:
            assert process.stop() == 0
            sys.modules.pop("ours", None)


def options(address: str, user: str, password: str, mechanism: str = "PLAIN") -> dict[str, Any]:
    return {
        "bootstrap_servers": address,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


@pytest.fixture(scope="module")
def admin(address: str) -> Iterator[AdminClient]:
    with AdminClient(**options(address, "admin", "admin-secret")) as client:
        topics = [NewTopic(f"{user}.orders", 1, 1) for user in ("alice", "scarlett", "olga")]
        values_of(client.create_topics(topics))
        yield client


def send(options: dict[str, Any], topic: str, count: int = 1, value: bytes = b"x") -> float:
    """Send them; the longest that the broker has had the producer wait (ms)."""
    with KafkaProducer(**options) as producer:
        for sent in [producer.send(topic, value) for _ in range(count)]:
            sent.get(60)
        return float(producer.metrics()["producer-metrics"]["produce-throttle-time-max"])


def test_passwords_names_and_topics(admin: AdminClient, address: str) -> None:
    alice = options(address, "ALICE", "alice-secret")
    send(alice, "alice.orders")
    with pytest.raises(TopicAuthorizationFailedError):
        send(alice, "scarlett.orders")
    with pytest.raises(SaslAuthenticationFailedError):
        send(options(address, "ALICE", "wrong"), "alice.orders")


def test_credentials_of_scram(admin: AdminClient, address: str) -> None:
    send(options(address, "scarlett", "scarlett-secret", "SCRAM-SHA-256"), "scarlett.orders")
    with pytest.raises(SaslAuthenticationFailedError):
        send(options(address, "scarlett", "wrong", "SCRAM-SHA-256"), "scarlett.orders")


def test_tokens(admin: AdminClient, address: str) -> None:
    from ours import Login  # type: ignore[import-not-found]

    common = {**options(address, "", "", "OAUTHBEARER")}
    del common["sasl_plain_username"], common["sasl_plain_password"]
    send({**common, "sasl_oauth_token_provider": Login()}, "olga.orders")
    wrong = type("Wrong", (), {"token": lambda self: "another"})()
    with pytest.raises(SaslAuthenticationFailedError):
        send({**common, "sasl_oauth_token_provider": wrong}, "olga.orders")


@pytest.mark.parametrize(
    ("mechanism", "config"),
    [("PLAIN", "sasl.client.callback.handler.class"), ("OAUTHBEARER", "sasl.login.callback.handler.class")],
)
def test_logins_of_tools(admin: AdminClient, address: str, mechanism: str, config: str) -> None:
    properties = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": mechanism, config: "ours:Login"}
    with AdminClient.from_properties({"bootstrap.servers": address, **properties}) as client:
        if mechanism == "PLAIN":  # alice's name is written otherwise in the file of users
            with pytest.raises(SaslAuthenticationFailedError):
                client.list_topics()
        else:
            assert list(client.list_topics()) == ["olga.orders"]


def test_policies(admin: AdminClient) -> None:
    with pytest.raises(PolicyViolationError, match="Topic many must not have more than 10 partitions"):
        values_of(admin.create_topics([NewTopic("many", 11, 1)]))
    topic = ConfigResource(ConfigResourceType.TOPIC, "alice.orders")
    with pytest.raises(PolicyViolationError, match="Topics are not compacted here"):
        values_of(admin.incremental_alter_configs({topic: [ConfigChange("cleanup.policy", "compact")]}))


def test_a_quota_for_each_user(admin: AdminClient, address: str) -> None:
    value = bytes(900_000)
    assert send(options(address, "admin", "admin-secret"), "alice.orders", 5, value) == 0
    assert send(options(address, "ALICE", "alice-secret"), "alice.orders", 5, value) > 0
