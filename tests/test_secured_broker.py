"""A broker with SASL, TLS and ACLs: who may do what, by our client, librdkafka and kafka-python."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import kafka as kafka_python
import pytest
from confluent_kafka import Producer
from kafka.errors import TopicAuthorizationFailedError as KafkaPythonTopicAuthorizationFailedError

from kafkapy.admin import KafkaAdminClient, ScramMechanism, UserScramCredentialUpsertion
from kafkapy.admin.acl_types import ACL, ACLOperation, ACLPermissionType, ResourcePattern, ResourceType
from kafkapy.common.free_ports import free_ports
from kafkapy.consumer import KafkaConsumer
from kafkapy.errors import (
    DelegationTokenAuthorizationFailedError,
    DelegationTokenRequestNotAllowedError,
    NoBrokersAvailable,
    SaslAuthenticationFailedError,
    TopicAuthorizationFailedError,
)
from kafkapy.producer import KafkaProducer
from kafkapy.security.tls.certificates import CertificateAuthority
from tests.broker_process import BrokerProcess
from tests.waiting import HANG_SECONDS, wait_until

pytestmark = [pytest.mark.integration]

PLAIN_LOGIN = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    'username="broker" password="broker-secret" user_broker="broker-secret" user_alice="alice-secret";'
)


class Cluster:
    """One broker: SASL_PLAINTEXT and SASL_SSL; `broker` is a super user, alice logs in by PLAIN, carol by SCRAM."""

    def __init__(self, directory: Path, zookeeper: str) -> None:
        authority = CertificateAuthority("CN=ca,O=test", datetime.now(UTC))
        self.ca, store = directory / "ca.pem", directory / "broker.pem"
        self.ca.write_text(authority.certificate)
        store.write_text(authority.issue("CN=broker-0,O=test", ["localhost", "127.0.0.1"]).store)
        plain, tls = (f"localhost:{port}" for port in free_ports(2))
        self.address, self.tls_address = plain, tls
        jaas = {f"listener.name.{name}.plain.sasl.jaas.config": PLAIN_LOGIN for name in ("in", "out")}
        configs = {
            "listeners": f"IN://{plain},OUT://{tls}",
            "listener.security.protocol.map": "IN:SASL_PLAINTEXT,OUT:SASL_SSL",
            "inter.broker.listener.name": "IN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": "User:broker",
            "delegation.token.secret.key": "token-secret",
            "delegation.token.expiry.check.interval.ms": "200",
            "kafkapy.audit.level": "all",
            "kafkapy.audit.topic": "audit",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(store),
        }
        self.process = BrokerProcess(directory, f"{zookeeper}/{uuid.uuid4().hex[:12]}", **configs, **jaas)

    def options(self, user: str, password: str | None = None, **more: Any) -> dict[str, Any]:
        """kafka-python's, and ours: PLAIN without TLS."""
        return {
            "bootstrap_servers": self.address,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "PLAIN",
            "sasl_plain_username": user,
            "sasl_plain_password": f"{user}-secret" if password is None else password,
            **more,
        }

    def scram(self, user: str) -> dict[str, Any]:
        """SCRAM over TLS."""
        tls = {"bootstrap_servers": self.tls_address, "security_protocol": "SASL_SSL", "ssl_cafile": str(self.ca)}
        return self.options(user, **tls, sasl_mechanism="SCRAM-SHA-256")


@pytest.fixture(scope="module")
def cluster(zookeeper: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("secured"), zookeeper)
    made.process.start()
    yield made
    assert made.process.stop() == 0
    log = made.process.log()
    assert " ERROR " not in log
    assert "-secret" not in log


@pytest.fixture
def admin(cluster: Cluster) -> Iterator[KafkaAdminClient]:
    client = KafkaAdminClient(**cluster.options("broker"))
    yield client
    client.close()


@pytest.fixture
def topic(admin: KafkaAdminClient) -> str:
    """One that nobody but the super user may see."""
    name = f"t-{uuid.uuid4().hex[:8]}"
    admin.create_topics([name])
    return name


def allow(admin: KafkaAdminClient, user: str, operation: ACLOperation, kind: ResourceType, name: str) -> None:
    pattern = ResourcePattern(kind, name)
    admin.create_acls([ACL(f"User:{user}", "*", operation, ACLPermissionType.ALLOW, pattern)])


def until_allowed(work: Callable[[], object]) -> None:
    """ACLs and users reach a broker by a notification."""
    deadline = time.monotonic() + HANG_SECONDS
    while True:
        try:
            work()
        except (TopicAuthorizationFailedError, SaslAuthenticationFailedError):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        else:
            return


def send(options: dict[str, Any], topic: str) -> None:
    with KafkaProducer(**options) as producer:
        producer.send(topic, b"x").get(HANG_SECONDS)


def test_the_audit_is_in_its_topic_and_not_of_itself(cluster: Cluster, admin: KafkaAdminClient, topic: str) -> None:
    with pytest.raises(TopicAuthorizationFailedError):
        send(cluster.options("alice"), topic)
    with pytest.raises(SaslAuthenticationFailedError):
        send(cluster.options("alice", "wrong-secret"), topic)
    allow(admin, "alice", ACLOperation.WRITE, ResourceType.TOPIC, topic)
    until_allowed(lambda: send(cluster.options("alice"), topic))
    expected = {
        ("authentication", "failure", "alice"),
        ("decision", "denied", topic),
        ("change", "success", topic),
        ("decision", "allowed", topic),
    }
    lines: list[dict[str, Any]] = []
    with KafkaConsumer("audit", **cluster.options("broker"), auto_offset_reset="earliest") as consumer:
        for message in consumer:
            assert b"-secret" not in message.value
            lines.append(json.loads(message.value))
            expected.discard(
                (
                    lines[-1]["event"],
                    lines[-1].get("decision") or lines[-1].get("outcome", ""),
                    lines[-1].get("resource") or lines[-1].get("claimed", ""),
                )
            )
            if not expected:
                break
    denied = {
        (line["principal"], line["mechanism"], line["rule"])
        for line in lines
        if line.get("decision") == "denied" and line["resource"] == topic
    }
    assert denied == {("User:alice", "PLAIN", "DefaultDeny")}
    assert not [line for line in lines if line.get("resource") == "audit" and line["operation"] == "WRITE"]


def test_what_is_not_allowed_is_refused_until_it_is(cluster: Cluster, admin: KafkaAdminClient, topic: str) -> None:
    alice = cluster.options("alice")
    with pytest.raises(TopicAuthorizationFailedError):
        send(alice, topic)
    allow(admin, "alice", ACLOperation.WRITE, ResourceType.TOPIC, topic)
    until_allowed(lambda: send(alice, topic))
    with (
        KafkaConsumer(topic, **alice, group_id="g", consumer_timeout_ms=HANG_SECONDS * 1000) as consumer,
        pytest.raises(Exception, match=r"(?i)authorization"),
    ):
        next(consumer)
    allow(admin, "alice", ACLOperation.READ, ResourceType.TOPIC, topic)
    allow(admin, "alice", ACLOperation.READ, ResourceType.GROUP, "g")

    def read() -> None:
        with KafkaConsumer(topic, **alice, group_id="g", auto_offset_reset="earliest") as consumer:
            assert next(consumer).value == b"x"

    wait_until(lambda: _succeeds(read))


def _succeeds(work: Callable[[], object]) -> bool:
    try:
        work()
    except Exception as error:
        if "authorization" not in str(error).lower():
            raise
        return False
    return True


def test_a_user_of_scram_over_tls(cluster: Cluster, admin: KafkaAdminClient, topic: str) -> None:
    carol = UserScramCredentialUpsertion("carol", ScramMechanism.SCRAM_SHA_256, "carol-secret")
    admin.alter_user_scram_credentials([carol])
    allow(admin, "carol", ACLOperation.WRITE, ResourceType.TOPIC, topic)
    until_allowed(lambda: send(cluster.scram("carol"), topic))


@pytest.mark.parametrize(("user", "password"), [("alice", "wrong"), ("nobody", "x"), ("alice", "")])
def test_wrong_passwords(cluster: Cluster, user: str, password: str) -> None:
    began = time.monotonic()
    with pytest.raises(Exception, match=r"(?i)authentication|password"):
        send(cluster.options(user, password), "t")
    assert time.monotonic() - began >= 0.1, "connection.failed.authentication.delay.ms"


def test_a_client_without_sasl_is_closed(cluster: Cluster) -> None:
    with pytest.raises(NoBrokersAvailable, match="if the listener asks for SASL, set security_protocol to SASL_SSL"):
        KafkaConsumer(bootstrap_servers=cluster.address, bootstrap_timeout_ms=2000)


def test_a_delegation_token(cluster: Cluster, admin: KafkaAdminClient, topic: str) -> None:
    """A process that knows no password works as alice, until the token ends (KIP-48)."""
    allow(admin, "alice", ACLOperation.WRITE, ResourceType.TOPIC, topic)
    with KafkaAdminClient(**cluster.options("alice")) as alice:
        token = alice.create_delegation_token(renewers=["User:carol"])
        info = token.token_info
        login = cluster.scram("alice") | {
            "sasl_plain_username": info.token_id,
            "sasl_plain_password": token.hmac_as_base64,
            "sasl_token_auth": True,
        }
        until_allowed(lambda: send(login, topic))
        with KafkaAdminClient(**login) as worker, pytest.raises(DelegationTokenRequestNotAllowedError):
            worker.create_delegation_token()
        with pytest.raises(SaslAuthenticationFailedError):
            send(login | {"sasl_token_auth": False}, topic)
        assert alice.describe_delegation_token() == [token]
        with pytest.raises(DelegationTokenAuthorizationFailedError):
            alice.create_delegation_token(owner="User:broker")
        alice.expire_delegation_token(token.hmac, 1)
        wait_until(lambda: alice.describe_delegation_token() == [])
        with pytest.raises(SaslAuthenticationFailedError):
            send(login, topic)
    assert token.hmac_as_base64 not in cluster.process.log()


def test_librdkafka(cluster: Cluster, admin: KafkaAdminClient, topic: str) -> None:
    allow(admin, "alice", ACLOperation.WRITE, ResourceType.TOPIC, topic)
    until_allowed(lambda: send(cluster.options("alice"), topic))
    producer = Producer(
        {
            "bootstrap.servers": cluster.tls_address,
            "security.protocol": "sasl_ssl",
            "ssl.ca.location": str(cluster.ca),
            "sasl.mechanism": "PLAIN",
            "sasl.username": "alice",
            "sasl.password": "alice-secret",
        }
    )
    producer.produce(topic, b"x")
    assert producer.flush(HANG_SECONDS) == 0


def test_kafka_python(cluster: Cluster, topic: str) -> None:
    broker = kafka_python.KafkaProducer(**cluster.options("broker"))
    broker.send(topic, b"x").get(HANG_SECONDS)
    broker.close()
    alice = kafka_python.KafkaProducer(**cluster.options("alice"), max_block_ms=5000)
    with pytest.raises(KafkaPythonTopicAuthorizationFailedError):
        alice.send(topic, b"x").get(HANG_SECONDS)
    alice.close()
