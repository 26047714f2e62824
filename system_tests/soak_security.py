"""What a secured broker is asked for months, by those it serves and those it refuses: operations for `Soak`."""

from __future__ import annotations

import base64
import itertools
import json
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.stalls.client import FrameClient, batch, fetch_request, metadata_request, produce_request, values
from kafkapy.admin import ScramMechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion
from kafkapy.admin.client import AdminClient
from kafkapy.admin.results import values_of
from kafkapy.clients.sasl import make_mechanism
from kafkapy.common.acl_types import (
    AccessControlEntry,
    AccessControlEntryFilter,
    AclBinding,
    AclBindingFilter,
    ACLOperation,
    AclPattern,
    AclPatternFilter,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourceType,
)
from kafkapy.errors import SaslAuthenticationFailedError
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeRequest
from system_tests.secured_cluster import MECHANISMS, PASSWORD, PROTOCOLS, USER, SecuredCluster
from system_tests.security_fuzz import client_hello
from system_tests.services import HOST, wait_until
from system_tests.soak import CONFIG, TOPIC, Soak

SECURED_CONFIG = {
    **CONFIG,
    "delegation.token.secret.key": "soak",
    "delegation.token.expiry.check.interval.ms": 10_000,
    "delegation.token.max.lifetime.ms": 600_000,
    "connections.max.reauth.ms": 3_000_000,
    "connection.failed.authentication.delay.ms": 10,
    "ssl.enabled.protocols": "TLSv1.2,TLSv1.3",
    "kafkapy.audit.level": "all",
    "kafkapy.audit.file.max.bytes": 100_000,
    "kafkapy.audit.file.max.count": 2,
}

_RENEWED_AFTER_MS = 1_100
"""The broker lets a connection authenticate anew once a second."""


class SecuredSoak(Soak):
    """A broker with TLS, SASL, ACLs, tokens, quotas and the audit. Quotas' sensors are forgotten after an hour."""

    expiry_ms = 3_800_000
    step_ms = 100_000

    def __init__(self, secured: SecuredCluster, directory: Path) -> None:
        """`directory`: for the certificates of clients."""
        super().__init__(secured.cluster)
        self.secured = secured
        self._directory = directory
        self._admin = AdminClient(self.bootstrap)
        self._admin_of_user = AdminClient(
            f"{HOST}:{secured.ports['SASL']}",
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="PLAIN",
            sasl_plain_username=USER,
            sasl_plain_password=PASSWORD,
        )
        self._hello = client_hello(secured)
        self._held: list[socket.socket] = []
        self._numbers = itertools.count()
        self._contexts = {
            version: self._context(version) for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)
        }
        self._stranger = ssl.create_default_context()

    def close(self) -> None:
        self._let_go()
        self._admin.close()
        self._admin_of_user.close()

    def _let_go(self) -> None:
        """Close what an operation has left open for the broker to time out."""
        while self._held:
            self._held.pop().close()

    def _context(self, version: ssl.TLSVersion) -> ssl.SSLContext:
        context = self.secured.tls_context(with_certificate=True)
        context.minimum_version = context.maximum_version = version
        return context

    def connect(self, listener: str) -> socket.socket:
        return socket.create_connection((HOST, self.secured.ports[listener]), timeout=60)

    def client_of(self, listener: str, client_id: str = "soak") -> SaslClient:
        return SaslClient(self.secured.ports[listener], client_id)

    # --- TLS

    def handshakes(self, count: int) -> None:
        """That succeed, in both versions, and are used."""
        for number in range(count):
            context = self._contexts[list(self._contexts)[number % 2]]
            listener = ("TLS", "MTLS")[number // 2 % 2]
            with context.wrap_socket(self.connect(listener), server_hostname="localhost") as connection:
                client = TlsClient(connection, f"tls-{number}")
                client.ask(metadata_request(None), 9)

    def failed_handshakes(self, count: int) -> None:
        """A client that does not trust the broker, one without the certificate that is demanded, garbage."""
        plain = self.secured.tls_context()
        for number in range(count):
            listener, context = (("TLS", self._stranger), ("MTLS", plain), ("SASLS", None))[number % 3]
            with self.connect(listener) as connection, suppress(OSError):
                if context is None:
                    connection.sendall(b"\x16\x03\x01\x00\x05hello" * 3)
                    connection.recv(1 << 16)
                else:
                    with context.wrap_socket(connection, server_hostname="localhost") as made:
                        made.recv(1 << 16)

    def cut_handshakes(self, count: int) -> None:
        """Each has got further than the one before."""
        for number in range(count):
            with self.connect(("TLS", "MTLS", "SASLS")[number % 3]) as connection:
                connection.sendall(self._hello[: 1 + number * 37 % len(self._hello)])

    def handshakes_without_end(self, count: int) -> None:
        """Connections that say nothing, half a hello, or all of it and no more; the broker closes them for being idle."""
        self._let_go()
        for number in range(count):
            connection = self.connect(("TLS", "MTLS", "SASLS", "SASL")[number // 3 % 4])
            connection.sendall(self._hello[: (0, 100, len(self._hello))[number % 3]])
            self._held.append(connection)

    # --- SASL

    def logins(self, count: int) -> None:
        """By each mechanism, right, wrong and cut in the middle; of users that there are not."""
        for number in range(count):
            mechanism = MECHANISMS[number % len(MECHANISMS)]
            way = number // len(MECHANISMS) % 4
            with self.client_of("SASL") as client:
                if way == 0:
                    client.login(mechanism, USER, PASSWORD)
                    client.ask(metadata_request([]), 9)
                elif way == 1:
                    client.handshake(mechanism)
                else:
                    user = USER if way == 2 else f"nobody-{next(self._numbers)}"
                    with suppress(SaslAuthenticationFailedError):
                        client.login(mechanism, user, "wrong")

    def logins_over_tls(self, count: int) -> None:
        for number in range(count):
            raw = self.connect("SASLS")
            with self.secured.tls_context().wrap_socket(raw, server_hostname="localhost") as connection:
                client = TlsClient(connection, "sasl-ssl")
                client.login(MECHANISMS[number % len(MECHANISMS)], USER, PASSWORD)
                client.ask(metadata_request([]), 9)

    def reauthentications(self, count: int) -> None:
        """Of the same connections, one of each mechanism, and at last one that fails."""
        clients = {mechanism: self.client_of("SASL") for mechanism in MECHANISMS}
        for mechanism, client in clients.items():
            client.login(mechanism, USER, PASSWORD)
        for _ in range(0, count, len(MECHANISMS)):
            self.broker.order("advance", ms=_RENEWED_AFTER_MS)
            for mechanism, client in clients.items():
                client.login(mechanism, USER, PASSWORD)
                client.ask(metadata_request([]), 9)
        self.broker.order("advance", ms=_RENEWED_AFTER_MS)
        for mechanism, client in clients.items():
            with client, suppress(SaslAuthenticationFailedError):
                client.login(mechanism, USER, "wrong")

    def tokens(self, count: int) -> None:
        """Delegation tokens that are used; half of them are ended, half left to expire."""
        for number in range(count):
            token = self._admin_of_user.create_delegation_token(max_lifetime_ms=300_000)
            self._log_in_when_known(token.token_info.token_id, token.hmac_as_base64, is_token=True)
            if number % 2:
                self._admin_of_user.expire_delegation_token(token.hmac)

    def users(self, count: int) -> None:
        """SCRAM users that come, log in and go."""
        for _ in range(count):
            name = f"user-{next(self._numbers)}"
            scram = ScramMechanism.SCRAM_SHA_256
            values_of(self._admin.alter_user_scram_credentials([UserScramCredentialUpsertion(name, scram, "secret")]))
            self._log_in_when_known(name, "secret")
            values_of(self._admin.alter_user_scram_credentials([UserScramCredentialDeletion(name, scram)]))

    def _log_in_when_known(self, user: str, password: str, *, is_token: bool = False) -> None:
        """Users and tokens reach the broker's caches by way of ZooKeeper."""

        def logs_in() -> bool:
            with self.client_of("SASL", user) as client:
                try:
                    client.login("SCRAM-SHA-256", user, password, is_token=is_token)
                except SaslAuthenticationFailedError:
                    return False
                client.ask(metadata_request([TOPIC]), 9)
                return True

        wait_until(logs_in, 30, lambda: f"{user} may log in")

    # --- ACLs, principals, audit

    def acls(self, count: int) -> None:
        """Of changing principals, on changing names, literal and prefixed, while others ask for them."""
        made = []
        with self.client() as client:
            for number in range(count):
                name = next(self._names)
                kind = (ACLResourcePatternType.LITERAL, ACLResourcePatternType.PREFIXED)[number % 2]
                pattern = AclPattern(ResourceType.TOPIC, name, kind)
                allowed = ACLPermissionType.ALLOW if number % 3 else ACLPermissionType.DENY
                entry = AccessControlEntry(f"User:{name}", "*", ACLOperation.READ, allowed)
                values_of(self._admin.create_acls([AclBinding(pattern, entry)]))
                client.ask(metadata_request([name]), 9)
                made.append(pattern)
        anyone = AccessControlEntryFilter()
        filters = [AclBindingFilter(AclPatternFilter(*pattern), anyone) for pattern in made]
        values_of(self._admin.delete_acls(filters))

    def principals(self, count: int) -> None:
        """Many clients, each with a certificate of its own name, whose rights are looked up; the audit tells of all."""
        for number in range(count):
            made = self.secured.authority.issue(f"CN=client-{next(self._numbers)},O=test")
            store = self._directory / "principal.pem"
            store.write_text(made.store)
            context = ssl.create_default_context(cafile=str(self.secured.ca))
            context.load_cert_chain(store)
            with context.wrap_socket(self.connect("MTLS"), server_hostname="localhost") as connection:
                client = TlsClient(connection, f"principal-{number}")
                client.ask(metadata_request([TOPIC, "other"]), 9)
                client.ask(fetch_request(TOPIC, 0, 1000), 12)

    # --- quotas

    def quotas(self, count: int) -> None:
        """Of users, clients, both and addresses that come and go."""
        kinds = (("user",), ("client-id",), ("user", "client-id"), ("ip",))
        for number in range(count):
            kind = kinds[number % len(kinds)]
            if kind == ("ip",):
                name = f"10.{number % 250}.{next(self._numbers) // 250 % 250}.{number % 250}"
                keys = {"connection_creation_rate": 100.0}
            else:
                name = f"quota-{next(self._numbers)}"
                keys = {"producer_byte_rate": 1e6, "consumer_byte_rate": 1e6, "request_percentage": 50.0}
            entity = tuple((each, name) for each in kind)
            self._admin.alter_client_quotas(entity, keys)
            self._admin.alter_client_quotas(entity, dict.fromkeys(keys))

    def quota_sensors(self, count: int) -> None:
        """Clients of changing names, as changing users, each of which is measured."""
        limits = {
            "producer_byte_rate": 1e9,
            "consumer_byte_rate": 1e9,
            "request_percentage": 1e6,
            "controller_mutation_rate": 1e6,
        }
        entity = (("user", None), ("client-id", None))
        self._admin.alter_client_quotas(entity, limits)
        produce = produce_request(TOPIC, batch(values(1, 100)))
        fetch = fetch_request(TOPIC, 0, 1000)
        for _ in range(count):
            with self.client_of("SASL", f"sensor-{next(self._numbers)}") as client:
                client.login("PLAIN", USER, PASSWORD)
                client.ask(produce, 9)
                client.ask(fetch, 12)
        self._admin.alter_client_quotas(entity, dict.fromkeys(limits))

    # --- what changes while the broker runs

    def listeners(self, count: int) -> None:
        """Those with TLS are closed and opened again, one for each ten of `count`, under clients that use them."""
        for _ in range(max(count // 10, 1)):
            with self.connect("MTLS") as half, self.connect("TLS") as connection:
                half.sendall(self._hello[:50])
                made = self.secured.tls_context().wrap_socket(connection, server_hostname="localhost")
                with made:
                    self.secured.close_listeners_but("SASL", "SASLS")
                    with suppress(OSError):
                        made.recv(1)
            wait_until(lambda: not self._is_open("TLS"), 30, lambda: "the listener is closed")
            self.secured.open_listeners(*PROTOCOLS)
            wait_until(lambda: self._is_open("TLS"), 30, lambda: "the listener is open")

    def _is_open(self, listener: str) -> bool:
        try:
            self.connect(listener).close()
        except OSError:
            return False
        return True

    def stores(self, count: int) -> None:
        """New keys of the broker, one for each ten of `count`, while older connections go on."""
        for _ in range(max(count // 10, 1)):
            made = self.secured.new_store()
            wanted = ssl.PEM_cert_to_DER_cert(made.certificate_chain[: made.certificate_chain.index("-----END") + 25])
            raw = self.connect("TLS")
            with self.secured.tls_context().wrap_socket(raw, server_hostname="localhost") as older:

                def is_served(wanted: bytes = wanted) -> bool:
                    self.broker.order("advance", ms=11_000)
                    connection = self.connect("TLS")
                    with self.secured.tls_context().wrap_socket(connection, server_hostname="localhost") as newer:
                        return newer.getpeercert(binary_form=True) == wanted

                wait_until(is_served, 30, lambda: "the new certificate is served")
                TlsClient(older, "older").ask(metadata_request([]), 9)


class SaslClient(FrameClient):
    """Frames over one connection, which may log in."""

    def handshake(self, mechanism: str) -> None:
        assert self.call(SaslHandshakeRequest(mechanism=mechanism), 1).error_code == 0

    def login(self, mechanism: str, user: str, password: str, *, is_token: bool = False) -> None:
        """`SaslAuthenticationFailedError`: the broker refuses."""
        credentials: Any = SimpleNamespace(
            sasl_plain_username=user,
            sasl_plain_password=password,
            sasl_token_auth=is_token,
            sasl_oauth_token_provider=SimpleNamespace(token=lambda: _unsecured_token(user, password)),
        )
        self.handshake(mechanism)
        talk = make_mechanism(mechanism, credentials)
        message: bytes | None = talk.first()
        while message is not None:
            answer = self.call(SaslAuthenticateRequest(auth_bytes=message), 2)
            if answer.error_code:
                raise SaslAuthenticationFailedError(answer.error_message)
            message = talk.next(answer.auth_bytes)


class TlsClient(SaslClient):
    """The same over a connection that there is."""

    def __init__(self, connection: ssl.SSLSocket, client_id: str) -> None:
        self.socket = connection
        self.client_id = client_id


def _unsecured_token(user: str, password: str) -> str:
    """One that has expired if the password is wrong."""
    now = time.time() if password == PASSWORD else 1.0
    parts = ({"alg": "none"}, {"sub": user, "iat": now, "exp": now + 100_000})
    return ".".join(base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts) + "."


SecuredOperation = Callable[[SecuredSoak, int], None]

SECURED_KINDS: tuple[SecuredOperation, ...] = (
    SecuredSoak.handshakes,
    SecuredSoak.failed_handshakes,
    SecuredSoak.cut_handshakes,
    SecuredSoak.handshakes_without_end,
    SecuredSoak.logins,
    SecuredSoak.logins_over_tls,
    SecuredSoak.reauthentications,
    SecuredSoak.tokens,
    SecuredSoak.users,
    SecuredSoak.acls,
    SecuredSoak.principals,
    SecuredSoak.quotas,
    SecuredSoak.quota_sensors,
    SecuredSoak.listeners,
    SecuredSoak.stores,
)


def all_kinds(soak: SecuredSoak, count: int) -> None:
    """A few of each."""
    for operation in SECURED_KINDS:
        operation(soak, count)
