"""Secures a cluster on one machine: certificates, users with passwords, the brokers' properties, the clients' options.

DIR/ca.pem              the authority's certificate: what clients trust
DIR/broker-0.pem        a broker's key and certificate, with the names and addresses at which it is reached
DIR/admin.pem           the administrator's key and certificate, for the brokers' own listener
DIR/passwords.json      user -> password
"""

from __future__ import annotations

import json
import os
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

ADMIN: Final = "admin"
"""The super user."""

MECHANISM: Final = "SCRAM-SHA-512"
PRIVATE: Final = 0o600
_PASSWORD_BYTES: Final = 18
_NAME: Final = "CN={},OU=kafkapy"
_LOGIN_MODULE: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
_PASSWORDS: Final = "passwords.json"

PYTHON, AIOKAFKA, CONFLUENT, JAVA = "python", "aiokafka", "confluent", "java"
"""Styles of option names: of kafkapy and kafka-python; of aiokafka; of librdkafka; of Java's properties."""

Options = dict[str, Any]


class ClusterSecurity:
    """The security material of a cluster.

    Clients log in by SCRAM over TLS; brokers, and the administrator until there are users, by certificate. ACLs
    authorize operations.

    Invariant: the object reflects the files in `directory`, which are created once. Only their owner can read the
    private ones.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as made:
        ...     security = ClusterSecurity.load_or_make(Path(made), 1, ["localhost"], ["alice"])
        ...     security.options("alice", "localhost:9092", CONFLUENT)["security.protocol"]
        'SASL_SSL'
    """

    def __init__(self, directory: Path, passwords: Mapping[str, str]) -> None:
        """See `load_or_make`."""
        self.directory = directory
        self._passwords = dict(passwords)

    def __repr__(self) -> str:
        return f"<ClusterSecurity {self.directory}, users {', '.join(self._passwords)}>"

    @classmethod
    def load_or_make(cls, directory: Path, brokers: int, hosts: Iterable[str], users: Iterable[str]) -> ClusterSecurity:
        """
        Parameters:
            directory: Directory of the files; existing files are kept.
            brokers: Number of brokers; their ids start at 0.
            hosts: Names and addresses of the brokers, beside those of this machine.
            users: Users beside `ADMIN`; each gets a password.

        Raises:
            MissingExtra: `cryptography` is not installed.
            ValueError: The password file is damaged.
        """
        file = directory / _PASSWORDS
        if file.exists():
            security = cls(directory, json.loads(file.read_text()))
        else:
            directory.mkdir(parents=True, exist_ok=True)
            _make_certificates(directory, brokers, hosts)
            security = cls(directory, {})
        for user in (ADMIN, *users):
            if user not in security._passwords:
                security.add(user)
        return security

    @property
    def users(self) -> list[str]:
        return list(self._passwords)

    def add(self, user: str, password: str | None = None) -> None:
        """Add a user, with a random password if none is given. `create_users` makes it known to the brokers."""
        self._passwords[user] = secrets.token_urlsafe(_PASSWORD_BYTES) if password is None else password
        write_private(self.directory / _PASSWORDS, json.dumps(self._passwords))

    # ------------------------------------------------------------------------------------------------ brokers

    def broker_properties(self, number: int, brokers: int, clients: str, internal: str) -> dict[str, str]:
        """Return the properties of a broker. `clients`, `internal`: the names of its listeners."""
        names = [f"broker-{each}" for each in range(brokers)]
        return {
            "listener.security.protocol.map": f"{clients}:SASL_SSL,{internal}:SSL",
            "inter.broker.listener.name": internal,
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.directory / f"{names[number]}.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self._ca),
            f"listener.name.{internal.lower()}.ssl.client.auth": "required",
            "ssl.principal.mapping.rules": "RULE:^CN=([^,]+),OU=kafkapy$/$1/,DEFAULT",
            "sasl.enabled.mechanisms": MECHANISM,
            f"listener.name.{clients.lower()}.{MECHANISM.lower()}.sasl.jaas.config": f"{_LOGIN_MODULE} required;",
            "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
            "super.users": ";".join(f"User:{name}" for name in (ADMIN, *names)),
        }

    @property
    def _ca(self) -> Path:
        return self.directory / "ca.pem"

    def internal_options(self) -> Options:
        """Options of the administrator for the brokers' listener, where it logs in by certificate before users
        exist."""
        return {
            "security_protocol": "SSL",
            "ssl_cafile": str(self._ca),
            "ssl_certfile": str(self.directory / f"{ADMIN}.pem"),
        }

    def create_users(self, admin: AdminClient, users: Sequence[str] | None = None) -> list[str]:
        """Create these users at the brokers, by default all that they lack; return the users that were created."""
        from kafkapy.admin.results import values_of
        from kafkapy.admin.types import ScramMechanism, UserScramCredentialUpsertion

        if users is None:
            known = admin.describe_user_scram_credentials()
            users = [user for user in self._passwords if user not in known]
        kind = ScramMechanism.SCRAM_SHA_512
        new = [UserScramCredentialUpsertion(user, kind, self._passwords[user]) for user in users]
        if new:
            values_of(admin.alter_user_scram_credentials(new))
        return list(users)

    # ------------------------------------------------------------------------------------------------ clients

    def options(self, user: str, servers: str, style: str = PYTHON) -> Options:
        """Return the options of a client of this user.

        Parameters:
            user: One of `users`.
            servers: The brokers' addresses.
            style: `PYTHON`, `AIOKAFKA`, `CONFLUENT` or `JAVA`.

        Raises:
            ValueError: There is no such user, or no such style.
        """
        if user not in self._passwords:
            raise ValueError(f"there is no user {user}, only {', '.join(self._passwords)}")
        return _styles(style)(servers, str(self._ca), user, self._passwords[user])


def _python(servers: str, ca: str, user: str, password: str) -> Options:
    return {
        "bootstrap_servers": servers,
        "security_protocol": "SASL_SSL",
        "ssl_cafile": ca,
        "sasl_mechanism": MECHANISM,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


def _aiokafka(servers: str, ca: str, user: str, password: str) -> Options:
    import ssl

    options = _python(servers, ca, user, password)
    return {**options, "ssl_context": ssl.create_default_context(cafile=options.pop("ssl_cafile"))}


def _confluent(servers: str, ca: str, user: str, password: str) -> Options:
    return {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": ca,
        "sasl.mechanism": MECHANISM,
        "sasl.username": user,
        "sasl.password": password,
    }


def _java(servers: str, ca: str, user: str, password: str) -> Options:
    quoted = [text.replace("\\", "\\\\").replace('"', '\\"') for text in (user, password)]
    return {
        "bootstrap.servers": servers,
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": ca,
        "sasl.mechanism": MECHANISM,
        "sasl.jaas.config": f'{_LOGIN_MODULE} required username="{quoted[0]}" password="{quoted[1]}";',
    }


def open_options(servers: str, style: str = PYTHON) -> Options:
    """Return the client options of a cluster without security: its addresses. Raises ValueError for an unknown
    style."""
    name = "bootstrap.servers" if _styles(style) in (_confluent, _java) else "bootstrap_servers"
    return {name: servers}


def _styles(style: str) -> Callable[[str, str, str, str], Options]:
    known = {PYTHON: _python, AIOKAFKA: _aiokafka, CONFLUENT: _confluent, JAVA: _java}
    if style not in known:
        raise ValueError(f"options come in the style of {', '.join(known)}, not of {style}")
    return known[style]


def _make_certificates(directory: Path, brokers: int, hosts: Iterable[str]) -> None:
    from kafkapy.security.tls.certificates import CertificateAuthority

    authority = CertificateAuthority(_NAME.format("ca"), datetime.now(UTC))
    own = ["localhost", "127.0.0.1", "::1", socket.gethostname()]
    reached_at = list(dict.fromkeys([*own, *hosts]))
    for number in range(brokers):
        broker = authority.issue(_NAME.format(f"broker-{number}"), reached_at)
        write_private(directory / f"broker-{number}.pem", broker.store)
    write_private(directory / f"{ADMIN}.pem", authority.issue(_NAME.format(ADMIN)).store)
    (directory / "ca.pem").write_text(authority.certificate)


def write_private(file: Path, text: str) -> None:
    """Write a file that is created with permissions for its owner only."""
    file.unlink(missing_ok=True)
    descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE)
    with open(descriptor, "w") as opened:
        opened.write(text)
