"""TLS, SASL and access lists of the embedded ZooKeeper, by the clients that brokers and tools have."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kafkapy.security.jaas import LoginModule
from kafkapy.tools.acls import acls
from kafkapy.tools.zookeeper import zookeeper_copy, zookeeper_security_migration
from kafkapy.zk.client_security import ZkClientSecurity, security_of_broker
from kafkapy.zk.embedded.auth_settings import SASL_PROVIDER, AuthSettings
from kafkapy.zk.embedded.settings import SecurePort, Settings
from kafkapy.zk.errors import InvalidAclError, NoAuthError, ZooKeeperClientAuthFailedError
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.request_pipeline import RequestPipeline
from kafkapy.zk.requests import GetAcl, SetAcl
from kafkapy.zk.session_closer import Session, close_session
from kafkapy.zk.znode_acls import OPEN_ACL, Acl
from tests.security.tls import pki
from tests.zk.embedded.server_in_thread import ServerInThread

NETTY = "org.apache.zookeeper.ClientCnxnSocketNetty"
MODULE = "org.apache.zookeeper.server.auth.DigestLoginModule"
DN = "CN=broker,OU=kafka,O=kit"
SECTION = (LoginModule(MODULE, "required", {"user_kafka": "kafka-pw", "user_eve": "eve-pw", "user_super": "super-pw"}),)
TIMEOUT_MS = 20_000


def settings(**properties: str) -> Settings:
    given = {"authProvider.sasl": SASL_PROVIDER, **{name.replace("_", "."): text for name, text in properties.items()}}
    return Settings(auth=AuthSettings(given, SECTION, has_tls=True))


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("stores")
    (directory / "ca.pem").write_text(pki.authority().certificate)
    (directory / "server.pem").write_text(pki.credential("CN=zk,O=kit").store)
    (directory / "client.pem").write_text(pki.credential(DN).store)
    return directory


@pytest.fixture
def server(stores: Path) -> Iterator[ServerInThread]:
    tls = {
        "keyStore.location": str(stores / "server.pem"),
        "trustStore.location": str(stores / "ca.pem"),
        "clientAuth": "want",
    }
    with ServerInThread(settings=settings(), secure=SecurePort(0, "127.0.0.1", tls)) as started:
        yield started


def sasl(user: str, password: str | None = None) -> ZkClientSecurity:
    return ZkClientSecurity(None, user, f"{user}-pw" if password is None else password)


def tls_of(stores: Path, certificate: bool = True) -> ZkClientSecurity:
    configs = {
        "zookeeper.ssl.client.enable": "true",
        "zookeeper.clientCnxnSocket": NETTY,
        "zookeeper.ssl.truststore.location": str(stores / "ca.pem"),
    }
    if certificate:
        configs["zookeeper.ssl.keystore.location"] = str(stores / "client.pem")
    return security_of_broker(configs, {})


def connected(address: str, security: ZkClientSecurity, secure_acls: bool = True) -> KafkaZkClient:
    return KafkaZkClient.connect(address, TIMEOUT_MS, TIMEOUT_MS, security=security, secure_acls=secure_acls)


def acls_of(client: KafkaZkClient, path: str) -> tuple[Acl, ...]:
    return RequestPipeline(client._client).answer_to(GetAcl(path)).raise_for_error().acls


def test_znodes_of_a_broker_with_sasl(server: ServerInThread) -> None:
    client, eve = (connected(f"{server.server.address}/kafka", sasl(user)) for user in ("kafka", "eve"))
    try:
        client.create_top_level_paths()
        own = Acl(31, "sasl", "kafka")
        assert acls_of(client, "/brokers/ids") == (own, Acl(1, "world", "anyone"))
        assert acls_of(client, "/config/users") == (own,)
        assert acls_of(client, "/consumers") == OPEN_ACL
        assert acls_of(client, "/") == (own, Acl(1, "world", "anyone"))
        assert "ids" in eve.get_children("/brokers")
        for forbidden in (lambda: eve.get_children("/config/users"), lambda: eve.create_recursive("/brokers/topics/t")):
            with pytest.raises(NoAuthError):
                forbidden()
    finally:
        client.close()
        eve.close()


@pytest.mark.parametrize(("user", "password"), [("kafka", "guessed-1"), ("nobody", "guessed-2")])
def test_a_user_that_is_refused(server: ServerInThread, user: str, password: str) -> None:
    with pytest.raises(ZooKeeperClientAuthFailedError, match="refuses SASL as") as caught:
        connected(server.server.address, sasl(user, password))
    assert password not in str(caught.value)


def test_a_certificate_is_an_identity(server: ServerInThread, stores: Path) -> None:
    address = f"127.0.0.1:{server.server.secure_port}"
    client, unknown = connected(address, tls_of(stores)), connected(address, tls_of(stores, certificate=False), False)
    try:
        client.create_recursive("/mine", b"x" * 100_000)
        assert acls_of(client, "/mine") == (Acl(31, "x509", DN), Acl(1, "world", "anyone"))
        assert unknown.get_data_and_version("/mine") == (b"x" * 100_000, 0)
        with pytest.raises(NoAuthError):
            unknown.set_data("/mine", b"")
        with pytest.raises(InvalidAclError):
            RequestPipeline(unknown._client).answer_to(SetAcl("/", (Acl(31, "auth", ""),))).raise_for_error()
    finally:
        client.close()
        unknown.close()


def test_many_answers_in_one_record_of_tls_all_arrive(server: ServerInThread, stores: Path) -> None:
    client = connected(f"127.0.0.1:{server.server.secure_port}", tls_of(stores))
    try:
        paths = [f"/n{number}" for number in range(200)]
        for path in paths:
            client.create_recursive(path, path.encode())
        assert [found and found[0] for found in client.get_many(paths)] == [path.encode() for path in paths]
    finally:
        client.close()


def test_a_session_is_closed_over_tls_and_sasl(server: ServerInThread, stores: Path) -> None:
    both = ZkClientSecurity(tls_of(stores).tls, "kafka", "kafka-pw")
    told: list[Session | None] = []
    client = KafkaZkClient.connect(
        f"127.0.0.1:{server.server.secure_port}", TIMEOUT_MS, TIMEOUT_MS, on_session=told.append, security=both
    )
    try:
        session = told[0]
        assert session is not None
        assert close_session(Session.from_line(session.to_line()), session.addresses()[0], TIMEOUT_MS / 1000)
    finally:
        client.close()


def test_a_server_that_requires_sasl() -> None:
    with ServerInThread(settings=settings(sessionRequireClientSASLAuth="true")) as started:
        connected(f"{started.server.address}/a", sasl("kafka")).close()
        client = KafkaZkClient.connect(started.server.address, TIMEOUT_MS, TIMEOUT_MS)
        try:
            with client.time_limit(200), pytest.raises(Exception):  # noqa: B017 - hung up on, or lost meanwhile
                client.get_children("/")
        finally:
            client.close()


def test_migration(
    server: ServerInThread, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    jaas = tmp_path / "jaas.conf"
    jaas.write_text(f'Client {{ {MODULE} required username="kafka" password="kafka-pw"; }};')
    monkeypatch.setenv("KAFKA_OPTS", f"-Djava.security.auth.login.config={jaas}")
    address = f"{server.server.address}/kafka"
    client = connected(address, sasl("kafka"), secure_acls=False)
    try:
        client.create_top_level_paths()
        client.create_recursive("/brokers/topics/t/partitions/0", b"x")

        def migrate(choice: str, *more: str) -> int:
            return zookeeper_security_migration.main(["--zookeeper.acl", choice, "--zookeeper.connect", address, *more])

        assert migrate("secure", "--enable.path.check") == 1
        assert (
            "Warning: The following secure root paths do not exist in ZooKeeper: /cluster,/controller,"
            in capsys.readouterr().out
        )
        assert acls_of(client, "/brokers/ids") == OPEN_ACL
        assert migrate("secure") == 0
        own = Acl(31, "sasl", "kafka")
        assert acls_of(client, "/brokers/topics/t/partitions/0") == (own, Acl(1, "world", "anyone"))
        assert acls_of(client, "/config/brokers") == (own,)
        assert not client.path_exists("/controller_epoch")  # KAFKA-19480
        assert migrate("unsecure") == 0
        assert acls_of(client, "/config/brokers") == acls_of(client, "/") == OPEN_ACL
    finally:
        client.close()


def test_migration_needs_a_user_or_a_certificate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("KAFKA_OPTS", raising=False)
    assert zookeeper_security_migration.main(["--zookeeper.acl", "secure"]) == 1
    assert "ERROR: No JAAS configuration file has been specified" in capsys.readouterr().err


def tls_file(stores: Path, prefix: str = "") -> str:
    path = stores / f"{prefix}zk-tls.properties"
    path.write_text(
        f"{prefix}zookeeper.ssl.client.enable=true\n{prefix}zookeeper.clientCnxnSocket={NETTY}\n"
        f"{prefix}zookeeper.ssl.truststore.location={stores / 'ca.pem'}\n"
        f"{prefix}zookeeper.ssl.keystore.location={stores / 'client.pem'}\nother=ignored\n"
    )
    return str(path)


def jaas_file(stores: Path, section: str) -> str:
    path = stores / f"{section}.jaas"
    path.write_text(f'{section} {{ {MODULE} required username="kafka" password="kafka-pw"; }};\n')
    return f"-Djava.security.auth.login.config={path}"


@pytest.mark.parametrize("prefix", ["", "authorizer."])
def test_kafka_acls_writes_over_tls(server: ServerInThread, stores: Path, prefix: str) -> None:
    place = f"zookeeper.connect=127.0.0.1:{server.server.secure_port}/kafka"
    words = ["--authorizer-properties", place, "--zk-tls-config-file", tls_file(stores, prefix)]
    alice = ["--add", "--allow-principal", "User:alice", "--operation", "Read", "--topic", "orders"]
    assert acls.main([*words, "--authorizer-properties", "zookeeper.set.acl=true", *alice]) == 0
    client = connected(f"{server.server.address}/kafka", sasl("kafka"))
    try:
        written = client.get_data_and_version("/kafka-acl/Topic/orders")[0]
        assert written is not None and b"User:alice" in written
        assert Acl(31, "x509", DN) in acls_of(client, "/kafka-acl/Topic/orders")
    finally:
        client.close()


def test_kafka_acls_writes_as_the_user_of_the_jaas_file(
    server: ServerInThread, stores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`zookeeper.set.acl` is then true by default, as with Apache's tool."""
    monkeypatch.setenv("KAFKA_OPTS", jaas_file(stores, "Client"))
    words = ["--authorizer-properties", f"zookeeper.connect={server.server.address}/kafka"]
    assert acls.main([*words, "--add", "--allow-principal", "User:alice", "--topic", "orders"]) == 0
    client = connected(f"{server.server.address}/kafka", sasl("kafka"))
    try:
        assert Acl(31, "sasl", "kafka") in acls_of(client, "/kafka-acl/Topic/orders")
    finally:
        client.close()
    monkeypatch.delenv("KAFKA_OPTS")
    capsys.readouterr()
    assert acls.main([*words, "--list", "--zk-tls-config-file", "/no/such"]) == 1
    assert "/no/such: no such file" in capsys.readouterr().err


def test_a_tree_is_copied_over_tls_and_sasl(
    server: ServerInThread, stores: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    client = connected(server.server.address, sasl("kafka"))
    try:
        client.create_top_level_paths()
    finally:
        client.close()
    monkeypatch.setenv("KAFKA_OPTS", jaas_file(stores, "Old"))
    with ServerInThread() as unknowing:
        words = [server.server.address, unknowing.server.address, "--from-jaas-section", "Old", "--to-jaas-section", ""]
        assert zookeeper_copy.main(words) == 1
        assert "INVALID_ACL: a scheme of its access list is unknown there" in capsys.readouterr().err
    with ServerInThread(settings=settings()) as target:
        words = [f"127.0.0.1:{server.server.secure_port}", f"{target.server.address}/new"]
        words += ["--from-zk-tls-config-file", tls_file(stores)]
        assert zookeeper_copy.main([*words, "--from-jaas-section", "Odl"]) == 1
        assert "Old.jaas: there is no section Odl" in capsys.readouterr().err
        assert zookeeper_copy.main([*words, "--from-jaas-section", "Old", "--to-jaas-section", "Old"]) == 0
        copied = connected(f"{target.server.address}/new", ZkClientSecurity(), False)
        try:
            assert "ids" in copied.get_children("/brokers")
            with pytest.raises(NoAuthError):
                copied.get_children("/config/users")
        finally:
            copied.close()
