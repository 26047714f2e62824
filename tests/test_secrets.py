"""No password, key or token in anything that a secured broker, clients, tools, Streams, registry and proxy print or answer, at
debug level."""

from __future__ import annotations

import base64
import logging
import os
import signal
import subprocess
import sys
import time
import urllib.request
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from kafkapy.admin import KafkaAdminClient, ScramMechanism, UserScramCredentialUpsertion
from kafkapy.admin.client import AdminClient
from kafkapy.admin.configs import ConfigChange
from kafkapy.admin.types import ConfigResource
from kafkapy.clients.config import ClientConfig
from kafkapy.common.free_ports import free_ports
from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.consumer import KafkaConsumer
from kafkapy.producer import KafkaProducer
from kafkapy.security.tls.certificates import CertificateAuthority
from kafkapy.streams import Consumed, KafkaStreams, Produced, Serdes, StreamsBuilder
from kafkapy.streams.config import StreamsConfig
from tests.broker_process import ROOT, BrokerProcess
from tests.rest.http_server_process import HttpServerProcess
from tests.security.sasl.tokens import encoded
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration]

ADMIN, PLAIN, SCRAM, WRONG, TYPED, KEY, BASIC, SHARED = (
    f"{name}-5eCret-{name}" for name in ("adm", "pla", "scr", "wro", "typ", "key", "bas", "sha")
)
DEBUG = "level=DEBUG\nstderr=true\nlevel.kazoo=DEBUG\nlevel.kafkapy.request=DEBUG\n"
LOGIN = "org.apache.kafka.common.security"


def token(**claims: Any) -> str:
    """Unsecured; its signature-less text is as good as a password."""
    now = int(time.time())
    body = encoded({"sub": "carol", "iat": now, "exp": now + 3600, "jti": uuid.uuid4().hex, **claims})
    return f"{encoded({'alg': 'none'})}.{body}."


class Provider:
    def __init__(self, text: str) -> None:
        self._text = text

    def token(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "Provider()"


class Run:
    """The broker, and `told`: whatever anyone of them has said, by its source."""

    def __init__(self, directory: Path, zookeeper: str) -> None:
        self.told: dict[str, str] = {}
        authority = CertificateAuthority("CN=ca,O=test", datetime.now(UTC))
        self.ca = directory / "ca.pem"
        self.ca.write_text(authority.certificate)
        issued = authority.issue("CN=broker-0,O=test", ["localhost", "127.0.0.1"], password=KEY)
        store = directory / "broker.pem"
        store.write_text(issued.store)
        (directory / "logging.properties").write_text(DEBUG)
        plain, tls, metrics = free_ports(3)
        self.address, self.tls_address, self.metrics = f"127.0.0.1:{plain}", f"127.0.0.1:{tls}", metrics
        self.good_token, self.late_token = token(), token(exp=1)
        self.secrets = [ADMIN, PLAIN, SCRAM, WRONG, TYPED, KEY, BASIC, SHARED, self.good_token, self.late_token]
        self.secrets += [line for line in issued.store.splitlines() if len(line) == 64][:3]  # of the encrypted key
        jaas = {
            "plain": f'{LOGIN}.plain.PlainLoginModule required username="adm" password="{ADMIN}" '
            f'user_adm="{ADMIN}" user_alice="{PLAIN}";',
            "scram-sha-256": f"{LOGIN}.scram.ScramLoginModule required;",
            "oauthbearer": f"{LOGIN}.oauthbearer.OAuthBearerLoginModule required "
            'unsecuredValidatorAllowableClockSkewMs="1000";',
        }
        self.process = BrokerProcess(
            directory,
            f"{zookeeper}/{uuid.uuid4().hex[:12]}",
            **{
                "listeners": f"IN://{self.address},OUT://{self.tls_address}",
                "listener.security.protocol.map": "IN:SASL_PLAINTEXT,OUT:SASL_SSL",
                "inter.broker.listener.name": "IN",
                "sasl.mechanism.inter.broker.protocol": "PLAIN",
                "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER",
                "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
                "super.users": "User:adm;User:alice;User:bob;User:carol",
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": str(store),
                "ssl.key.password": KEY,
                "delegation.token.secret.key": SHARED,
                "password.encoder.secret": SHARED,
                "kafkapy.audit.level": "all",
                "kafkapy.metrics.listener": f"127.0.0.1:{metrics}",
                **{
                    f"listener.name.{name}.{kind}.sasl.jaas.config": text
                    for name in ("in", "out")
                    for kind, text in jaas.items()
                },
            },
        )

    def options(self, mechanism: str, user: str, password: str, tls: bool = False) -> dict[str, Any]:
        security = (
            {"security_protocol": "SASL_SSL", "ssl_cafile": str(self.ca)}
            if tls
            else {"security_protocol": "SASL_PLAINTEXT"}
        )
        return {
            "bootstrap_servers": self.tls_address if tls else self.address,
            **security,
            "sasl_mechanism": mechanism,
            **(
                {"sasl_oauth_token_provider": Provider(password)}
                if mechanism == "OAUTHBEARER"
                else {"sasl_plain_username": user, "sasl_plain_password": password}
            ),
        }

    def admin(self) -> Any:
        return KafkaAdminClient(**self.options("PLAIN", "adm", ADMIN))

    def refused(self, name: str, work: Callable[[], object]) -> None:
        with pytest.raises(Exception, match=r".") as failed:
            work()
        error: BaseException | None = failed.value
        while error is not None:
            self.told[f"{name}: {type(error).__name__}"] = f"{error} {error!r} {vars(error)}"
            error = error.__cause__ or error.__context__

    def tool(self, name: str, *arguments: str, user: str, password: str) -> None:
        file = self.process.directory / f"{name}-{user}.properties"
        jaas = f'{LOGIN}.plain.PlainLoginModule required username="{user}" password="{password}";'
        file.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={jaas}\n")
        command = [
            sys.executable,
            "-m",
            f"kafkapy.tools.{name}",
            "--bootstrap-server",
            self.address,
            *arguments,
            str(file),
        ]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, input="x\n", check=False)
        self.told[f"{name} as {user}"] = f"{done.returncode} {done.stdout} {done.stderr}"


@pytest.fixture
def run(zookeeper: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    made = Run(tmp_path, zookeeper)
    monkeypatch.setenv("KAFKAPY_LOGGING_CONFIG", str(tmp_path / "logging.properties"))
    return made


def test_no_secret_is_told(run: Run, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    run.process.start()
    try:
        _use(run)
        _fail(run)
        _look(run)
        _tools(run)
        _token(run)
        _streams(run)
        _http_servers(run)
    finally:
        assert run.process.stop() == 0
    run.told["the clients' log"] = caplog.text
    for path in run.process.directory.rglob("*"):
        if (
            path.suffix in (".log", ".out", ".properties")
            and "data" not in path.parts
            and "properties" not in path.suffix
        ):
            run.told[path.name] = path.read_text(errors="replace")
    assert "DEBUG" in run.told["broker.out"]
    assert "MainThread" in run.told["broker.out"], "there is no dump of the threads"
    found = [
        (source, secret, text[max(0, text.index(form) - 150) :][:300])
        for source, text in run.told.items()
        for secret in run.secrets
        for form in _forms(secret)
        if form in text
    ]
    assert not found


def _forms(secret: str) -> list[str]:
    """As it is, and as SASL's messages have it in Base64."""
    encoded_forms = (base64.b64encode(secret.encode()[start:]).decode().rstrip("=")[:-2] for start in range(3))
    return [secret, *(form for form in encoded_forms if len(form) > 12)]


def _use(run: Run) -> None:
    admin = run.admin()
    admin.create_topics(["t"])
    admin.alter_user_scram_credentials([UserScramCredentialUpsertion("bob", ScramMechanism.SCRAM_SHA_256, SCRAM)])
    run.told["users"] = str(admin.describe_user_scram_credentials())
    admin.close()
    for mechanism, user, password in (
        ("PLAIN", "alice", PLAIN),
        ("SCRAM-SHA-256", "bob", SCRAM),
        ("OAUTHBEARER", "", run.good_token),
    ):
        for tls in (False, True):
            options = run.options(mechanism, user, password, tls)
            run.told[f"options {mechanism}"] = repr(ClientConfig(**options))

            wait_until(partial(_sent, run, options))
    with KafkaConsumer("t", **run.options("PLAIN", "alice", PLAIN), auto_offset_reset="earliest") as consumer:
        next(consumer)
        run.told["consumer"] = repr(consumer)


def _sent(run: Run, options: dict[str, Any]) -> bool:
    try:
        with KafkaProducer(**options) as producer:
            producer.send("t", b"x").get(60)
            run.told["producer"] = repr(producer) + str(producer.metrics())
    except Exception as error:  # the user is not known everywhere yet
        run.told["not yet"] = f"{error!r}"
        return False
    return True


def _token(run: Run) -> None:
    """A delegation token, whose HMAC is a secret: used, renewed, wrong, expired."""
    with AdminClient(**run.options("PLAIN", "alice", PLAIN)) as admin:
        token = admin.create_delegation_token()
        hmac = token.hmac_as_base64
        run.secrets.append(hmac)
        run.told["token"] = f"{token} {token!r} {admin.describe_delegation_token()}"
        options = {**run.options("SCRAM-SHA-256", token.token_info.token_id, hmac), "sasl_token_auth": True}
        wait_until(lambda: _sent(run, options))
        admin.renew_delegation_token(token.hmac)
        admin.expire_delegation_token(token.hmac)
        run.refused("a token that is none", lambda: admin.renew_delegation_token(WRONG.encode()))
    run.refused("a token that is gone", lambda: KafkaProducer(**options))


def _streams(run: Run) -> None:
    """An application that copies a topic, and one with a wrong password."""
    builder, string = StreamsBuilder(), Serdes.string()
    builder.stream("t", Consumed.with_(string, string)).to("copies", Produced.with_(string, string))
    with run.admin() as admin:
        admin.create_topics(["copies"])
    for password in (PLAIN, WRONG):
        jaas = f'{LOGIN}.plain.PlainLoginModule required username="alice" password="{password}";'
        configs = {
            "application.id": "copy",
            "bootstrap.servers": run.address,
            "state.dir": str(run.process.directory / "data"),
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.jaas.config": jaas,
            "auto.offset.reset": "earliest",
        }
        run.told[f"configs of Streams, wrong: {password == WRONG}"] = f"{StreamsConfig(configs)!r}"
        streams = KafkaStreams(builder.build(), configs)
        if password == WRONG:
            run.refused("Streams", streams.start)
            streams.close()
            continue
        with (
            streams,
            KafkaConsumer("copies", **run.options("PLAIN", "alice", PLAIN), auto_offset_reset="earliest") as read,
        ):
            next(read)
            run.told["Streams"] = f"{streams!r} {streams.state()}"


def _http_servers(run: Run) -> None:
    """Registry and proxy, with users of their own, too; then with a wrong password."""
    registry_port, proxy_port, wrong_port = free_ports(3)
    users = run.process.directory / "users"
    users.write_text(f"adm: {BASIC},admin\n")

    def login(prefix: str, password: str = ADMIN) -> dict[str, str]:
        return {
            f"{prefix}.security.protocol": "SASL_PLAINTEXT",
            f"{prefix}.sasl.mechanism": "PLAIN",
            f"{prefix}.sasl.jaas.config": f'{LOGIN}.plain.PlainLoginModule required username="adm" password="{password}";',
        }

    directory = run.process.directory / "http"
    registry = HttpServerProcess(
        "schema_registry_start",
        directory,
        registry_port,
        host_name="127.0.0.1",
        kafkastore_topic_replication_factor="1",
        kafkastore_bootstrap_servers=f"SASL_PLAINTEXT://{run.address}",
        authentication_method="BASIC",
        kafkapy_authentication_users_file=str(users),
        **login("kafkastore"),
    )
    proxies = [
        HttpServerProcess(
            "kafka_rest_start",
            directory,
            port,
            bootstrap_servers=run.address,
            schema_registry_url=f"http://127.0.0.1:{registry_port}",
            schema_registry_basic_auth_user_info=f"adm:{BASIC}",
            **login("client", password),
        )
        for port, password in ((proxy_port, ADMIN), (wrong_port, WRONG))
    ]
    proxy, refused = proxies
    servers = [registry, proxy]
    for server in servers:
        server.start()
    with pytest.raises(AssertionError, match="SaslAuthenticationFailedError"):
        refused.start()
    run.told["log of a proxy with a wrong password"] = refused.output.read_text()
    try:
        for user, password in (("adm", BASIC), ("adm", WRONG)):
            basic = base64.b64encode(f"{user}:{password}".encode()).decode()
            answer = registry.ask("POST", "/subjects/s/versions", {"schema": '"int"'}, Authorization=f"Basic {basic}")
            run.told[f"registry, wrong: {password == WRONG}"] = str(answer)
        records = {"value_schema": '"int"', "records": [{"value": 1}]}
        kind = "application/vnd.kafka.avro.v2+json"
        run.told["proxy"] = str(proxy.ask("POST", "/topics/t", records, kind))
        assert "'offset': " in run.told["proxy"]
    finally:
        for server in servers:
            server.stop()
            run.told[f"log of {server.port}"] = server.output.read_text()


def _fail(run: Run) -> None:
    for mechanism, user in (
        ("PLAIN", "alice"),
        ("PLAIN", "nobody"),
        ("SCRAM-SHA-256", "bob"),
        ("SCRAM-SHA-256", "nobody"),
    ):
        for client in (KafkaProducer, KafkaConsumer, KafkaAdminClient):
            options = run.options(mechanism, user, WRONG, tls=client is KafkaProducer)
            run.refused(f"{client.__name__} {mechanism} {user}", lambda: client(**options))  # noqa: B023
    run.refused("a late token", lambda: KafkaConsumer(**run.options("OAUTHBEARER", "", run.late_token)))
    run.refused("no token", lambda: KafkaConsumer(**run.options("OAUTHBEARER", "", f"{WRONG}\x01")))


def _look(run: Run) -> None:
    broker = ConfigResource(ConfigResourceType.BROKER, "0")
    with AdminClient(**run.options("PLAIN", "adm", ADMIN)) as admin:
        changes = [
            ConfigChange("listener.name.out.ssl.key.password", TYPED),
            ConfigChange("listener.name.out.plain.sasl.jaas.config", f'x.y required password="{TYPED}"'),
            ConfigChange("ssl.keystore.key", TYPED),
        ]
        for change in changes:
            run.told[f"altered {change.name}"] = repr(admin.incremental_alter_configs({broker: [change]}))
        for resource in (
            broker,
            ConfigResource(ConfigResourceType.BROKER, ""),
            ConfigResource(ConfigResourceType.TOPIC, "t"),
        ):
            run.told[f"configs of {resource}"] = repr(admin.describe_configs([resource], True, True))
    page = urllib.request.urlopen(f"http://127.0.0.1:{run.metrics}/metrics").read().decode()
    assert "kafka_" in page
    run.told["metrics"] = page
    assert run.process.process is not None
    os.kill(run.process.process.pid, signal.SIGQUIT)
    wait_until(lambda: "MainThread" in run.process.log())


def _tools(run: Run) -> None:
    for user, password in (("adm", ADMIN), ("alice", WRONG)):
        run.tool("topics", "--list", "--command-config", user=user, password=password)
        run.tool(
            "configs",
            "--describe",
            "--entity-type",
            "brokers",
            "--entity-name",
            "0",
            "--all",
            "--command-config",
            user=user,
            password=password,
        )
        run.tool("console_producer", "--topic", "t", "--producer.config", user=user, password=password)
