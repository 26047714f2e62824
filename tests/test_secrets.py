"""No password, key or token in anything that a secured broker, its clients and tools print or answer, at debug level."""

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
from tests.broker_process import ROOT, BrokerProcess
from tests.security.sasl.tokens import encoded
from tests.tools.programs import modules
from tests.waiting import wait_until

pytestmark = [pytest.mark.integration]

ADMIN, PLAIN, SCRAM, WRONG, TYPED, KEY = (
    f"{name}-5eCret-{name}" for name in ("adm", "pla", "scr", "wro", "typ", "key")
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
        self.secrets = [ADMIN, PLAIN, SCRAM, WRONG, TYPED, KEY, self.good_token, self.late_token]
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
            modules()[name],
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

            def send(options: dict[str, Any] = options) -> bool:
                try:
                    with KafkaProducer(**options) as producer:
                        producer.send("t", b"x").get(60)
                        run.told["producer"] = repr(producer) + str(producer.metrics())
                except Exception as error:  # the user is not known everywhere yet
                    run.told["not yet"] = f"{error!r}"
                    return False
                return True

            wait_until(send)
    with KafkaConsumer("t", **run.options("PLAIN", "alice", PLAIN), auto_offset_reset="earliest") as consumer:
        next(consumer)
        run.told["consumer"] = repr(consumer)


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
