"""A broker with listeners of all security protocols beside the plaintext one, which is its test's own."""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kafkapy.admin import KafkaAdminClient, ScramMechanism, UserScramCredentialUpsertion
from kafkapy.admin.client import AdminClient
from kafkapy.admin.configs import ConfigChange
from kafkapy.admin.results import values_of
from kafkapy.admin.types import ConfigResource
from kafkapy.common.free_ports import free_ports
from kafkapy.common.wire_enums import ConfigResourceType
from kafkapy.errors import InvalidRequestError
from kafkapy.security.tls.certificates import CertificateAuthority, Credential
from kafkapy.testing.cluster import KafkaCluster
from kafkapy.testing.coordination import EmbeddedProcess
from system_tests.services import wait_until

PROTOCOLS = {"SASL": "SASL_PLAINTEXT", "SASLS": "SASL_SSL", "TLS": "SSL", "MTLS": "SSL"}
"""Listeners that are added to the cluster's own; MTLS demands a certificate."""
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
USER, PASSWORD = "alice", "alice-5ecret"
HIDDEN_TOPIC = "hidden-7f3a9c"
"""It is named by no request of a test: an answer that has it tells what only a client that is known may hear."""

_LOGIN = "org.apache.kafka.common.security"


class SecuredCluster:
    """One broker. `ports`: of the listeners in `PROTOCOLS`, and PLAINTEXT. alice logs in by PLAIN and SCRAM."""

    def __init__(self, directory: Path, **config: str) -> None:
        """`directory`: for certificates. `config`: of the broker, with underscores in the place of dots."""
        directory.mkdir(parents=True, exist_ok=True)
        self.authority = CertificateAuthority("CN=ca,O=test", datetime.now(UTC))
        self.ca, self.store = directory / "ca.pem", directory / "broker.pem"
        self.ca.write_text(self.authority.certificate)
        self.broker_key = self.new_store()
        self.client = self.authority.issue("CN=alice,OU=teams,O=test")
        self.client_store = directory / "client.pem"
        self.client_store.write_text(self.client.store)
        self.ports = dict(zip(PROTOCOLS, free_ports(len(PROTOCOLS)), strict=True))
        self.cluster = KafkaCluster(
            1,
            f"{HIDDEN_TOPIC}:1",
            {**self._configs(), **config},
            # Outside of the broker's process, whose memory is measured.
            zookeeper=lambda path: EmbeddedProcess(path, path.parent),
        )

    def _configs(self) -> dict[str, str]:
        configs = {
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": "User:ANONYMOUS;User:CN=alice\\,OU=teams\\,O=test;User:alice",
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.store),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.ca),
            "listener.name.mtls.ssl.client.auth": "required",
        }
        for listener in ("sasl", "saslS".lower()):
            name = f"listener.name.{listener}"
            configs[f"{name}.plain.sasl.jaas.config"] = (
                f'{_LOGIN}.plain.PlainLoginModule required user_{USER}="{PASSWORD}";'
            )
            for mechanism in ("scram-sha-256", "scram-sha-512"):
                configs[f"{name}.{mechanism}.sasl.jaas.config"] = f"{_LOGIN}.scram.ScramLoginModule required;"
            configs[f"{name}.oauthbearer.sasl.jaas.config"] = (
                f'{_LOGIN}.oauthbearer.OAuthBearerLoginModule required unsecuredValidatorAllowableClockSkewMs="1000";'
            )
        return configs

    def new_store(self) -> Credential:
        """A new key and certificate of the broker, which it finds by itself."""
        made = self.authority.issue("CN=broker-0,O=test", ["localhost", "127.0.0.1"])
        self.store.write_text(made.store)
        return made

    def __enter__(self) -> SecuredCluster:
        self.cluster.start()
        try:
            self.ports["PLAINTEXT"] = self.cluster.brokers[0].port.port
            self.open_listeners(*PROTOCOLS)
            admin: Any = KafkaAdminClient(bootstrap_servers=self.bootstrap)
            scram = (ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)
            admin.alter_user_scram_credentials(
                [UserScramCredentialUpsertion(USER, mechanism, PASSWORD) for mechanism in scram]
            )
            admin.close()
        except BaseException:
            self.cluster.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.cluster.stop()

    def open_listeners(self, *names: str) -> None:
        """Open these of `PROTOCOLS` beside the cluster's own, and those that are open (KIP-226)."""
        self._listen({"listener.security.protocol.map", "listeners", "advertised.listeners"}, names)

    def close_listeners_but(self, *names: str) -> None:
        """Close those of `PROTOCOLS` that are not named: what is advertised goes first, and the broker has to hear of that."""
        self._listen({"advertised.listeners"}, names)

        def are_closed() -> bool:
            try:
                self._listen({"listeners"}, names)
            except InvalidRequestError:
                return False
            return True

        wait_until(are_closed, 30, lambda: f"only {names} are open")

    def _listen(self, keys: set[str], names: Sequence[str]) -> None:
        own = dict(
            line.replace("\\", "").split("=", 1)
            for line in (self.cluster.brokers[0].directory / "server.properties").read_text().splitlines()
            if line.startswith(("listeners=", "listener.security.protocol.map="))
        )
        listeners = ",".join([own["listeners"], *(f"{name}://127.0.0.1:{self.ports[name]}" for name in names)])
        protocols = [own["listener.security.protocol.map"], *(f"{name}:{PROTOCOLS[name]}" for name in PROTOCOLS)]
        values = {
            "listener.security.protocol.map": ",".join(protocols),
            "listeners": listeners,
            "advertised.listeners": listeners,
        }
        changes = [ConfigChange(key, value) for key, value in values.items() if key in keys]
        with AdminClient(self.bootstrap) as admin:
            values_of(admin.incremental_alter_configs({ConfigResource(ConfigResourceType.BROKER, "0"): changes}))

    @property
    def bootstrap(self) -> str:
        return self.cluster.bootstrap_servers

    @property
    def pid(self) -> int:
        process = self.cluster.brokers[0].process
        assert process is not None
        return process.pid

    def order(self, name: str, **arguments: object) -> Any:
        return self.cluster.brokers[0].order(name, **arguments)

    def client_options(self, listener: str, mechanism: str = "SCRAM-SHA-256") -> dict[str, Any]:
        """kafka-python's, and ours."""
        protocol = PROTOCOLS[listener]
        options: dict[str, Any] = {
            "bootstrap_servers": f"127.0.0.1:{self.ports[listener]}",
            "security_protocol": protocol,
        }
        if protocol.endswith("SSL"):
            options["ssl_cafile"] = str(self.ca)
        if listener == "MTLS":
            options["ssl_certfile"] = options["ssl_keyfile"] = str(self.client_store)
        if protocol.startswith("SASL"):
            options |= {"sasl_mechanism": mechanism, "sasl_plain_username": USER, "sasl_plain_password": PASSWORD}
        return options

    def tls_context(self, with_certificate: bool = False) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self.ca))
        if with_certificate:
            context.load_cert_chain(self.client_store)
        return context
