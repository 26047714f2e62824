"""A secured cluster: who gets in, by the options of each client, and what it may do."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy import KafkaProducer
from kafkapy.errors import TopicAuthorizationFailedError
from kafkapy.testing import ClusterError, KafkaCluster
from kafkapy.testing.access import _pattern
from kafkapy.testing.cluster_security import AIOKAFKA, CONFLUENT, JAVA, ClusterSecurity, open_options
from tests.waiting import HANG_SECONDS


class TestFiles:
    def test_what_was_made_stays(self, tmp_path: Path) -> None:
        made = ClusterSecurity.load_or_make(tmp_path, 2, ["kafka.test"], ["alice"])
        certificates = {file.name: file.read_bytes() for file in tmp_path.glob("*.pem")}
        assert sorted(certificates) == ["admin.pem", "broker-0.pem", "broker-1.pem", "ca.pem"]
        again = ClusterSecurity.load_or_make(tmp_path, 2, [], ["alice", "bob"])
        assert again.users == ["admin", "alice", "bob"]
        assert again.options("alice", "b:1") == made.options("alice", "b:1")
        assert {file.name: file.read_bytes() for file in tmp_path.glob("*.pem")} == certificates

    def test_private_files_are_their_owners_alone(self, tmp_path: Path) -> None:
        ClusterSecurity.load_or_make(tmp_path, 1, [], [])
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir() if file.name != "ca.pem"}
        assert modes == {"admin.pem": 0o600, "broker-0.pem": 0o600, "passwords.json": 0o600}

    def test_a_password_is_in_no_repr(self, tmp_path: Path) -> None:
        security = ClusterSecurity(tmp_path, {"alice": "alice-secret"})
        assert "secret" not in repr(security)

    def test_a_password_with_quotes_in_javas_properties(self, tmp_path: Path) -> None:
        security = ClusterSecurity(tmp_path, {"alice": 'a"b\\c'})
        assert 'password="a\\"b\\\\c";' in security.options("alice", "b:1", JAVA)["sasl.jaas.config"]

    def test_what_is_not_there(self, tmp_path: Path) -> None:
        with pytest.raises(ValueError, match="there is no user eve, only alice"):
            ClusterSecurity(tmp_path, {"alice": "x"}).options("eve", "b:1")
        with pytest.raises(ValueError, match="not of perl"):
            open_options("b:1", "perl")


def test_acls_name_one_thing() -> None:
    with pytest.raises(ValueError, match="say one of topic, group, transactional_id and cluster"):
        _pattern(topic="t", group="g")


@pytest.fixture(scope="module")
def kafka() -> Iterator[KafkaCluster]:
    with KafkaCluster(topics="first", secured=True) as cluster:
        yield cluster


@pytest.mark.integration
class TestCluster:
    def test_who_may_and_who_may_not(self, kafka: KafkaCluster) -> None:
        kafka.allow("alice", ["WRITE", "READ"], topic="first")
        kafka.deny("alice", "READ", topic="first")
        with KafkaProducer(**kafka.client_options("alice")) as alice:
            alice.send("first", b"x").get(HANG_SECONDS)
        with KafkaProducer(**kafka.client_options("bob")) as bob, pytest.raises(TopicAuthorizationFailedError):
            bob.send("first", b"x").get(HANG_SECONDS)
        assert [record.value for record in kafka.records("first")] == [b"x"]
        kafka.forget_acls("alice")
        with KafkaProducer(**kafka.client_options("alice")) as alice, pytest.raises(TopicAuthorizationFailedError):
            alice.send("first", b"x").get(HANG_SECONDS)

    def test_librdkafka(self, kafka: KafkaCluster) -> None:
        from confluent_kafka import Producer

        kafka.create_user("carol", "a password")
        kafka.allow("carol", "WRITE", topic="second", prefixed=True)
        kafka.create_topic("second-1")
        producer = Producer(kafka.client_options("carol", CONFLUENT))
        producer.produce("second-1", b"y")
        assert producer.flush(HANG_SECONDS) == 0
        assert [record.value for record in kafka.records("second-1")] == [b"y"]

    def test_options_of_others(self, kafka: KafkaCluster) -> None:
        assert kafka.client_options("bob", JAVA)["security.protocol"] == "SASL_SSL"
        assert kafka.client_options("bob", AIOKAFKA)["ssl_context"].check_hostname

    def test_faults_of_connections(self, kafka: KafkaCluster) -> None:
        with KafkaProducer(**kafka.client_options(), retry_backoff_ms=5, reconnect_backoff_ms=5) as producer:
            producer.send("first", b"before").get(HANG_SECONDS)
            assert kafka.broker().cut_off() > 0
            kafka.heal()
            producer.send("first", b"after").get(HANG_SECONDS)

    def test_an_unknown_operation(self, kafka: KafkaCluster) -> None:
        with pytest.raises(ValueError, match="there is no operation FROB"):
            kafka.allow("alice", "FROB", topic="first")


def test_an_open_cluster_has_no_users() -> None:
    cluster = KafkaCluster()
    assert cluster.users == []
    with pytest.raises(ClusterError, match="secured=True closes it"):
        cluster.allow("alice", "READ", topic="t")
