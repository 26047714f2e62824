"""Users and authentication of the embedded ZooKeeper (ZooKeeper's `ProviderRegistry` and `AuthenticationHelper`).

Settings have the names of zookeeper.properties; ZooKeeper also reads them as system properties with the prefix
`zookeeper.`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from kafkapy.common.config_def import ConfigException
from kafkapy.security.jaas import LoginModule

SERVER_SECTION: Final = "zookeeper.sasl.serverconfig"
DEFAULT_SECTION: Final = "Server"
_DIGEST_MODULE: Final = "org.apache.zookeeper.server.auth.DigestLoginModule"
_PROVIDER: Final = "authProvider."
SASL_PROVIDER: Final = "org.apache.zookeeper.server.auth.SASLAuthenticationProvider"
_PROVIDERS: Final = {
    SASL_PROVIDER: "sasl",
    "org.apache.zookeeper.server.auth.X509AuthenticationProvider": "x509",
    "org.apache.zookeeper.server.auth.DigestAuthenticationProvider": "digest",
    "org.apache.zookeeper.server.auth.IPAuthenticationProvider": "ip",
}
_ALWAYS: Final = frozenset({"ip", "digest"})
_SUPER_SASL, _SUPER_DIGEST, _SUPER_X509 = (
    *("superUser", "DigestAuthenticationProvider.superDigest", "X509AuthenticationProvider.superUser"),
)
_SUPER_PASSWORD: Final = "SASLAuthenticationProvider.superPassword"
NAMES: Final = frozenset(
    {
        *(_SUPER_SASL, _SUPER_DIGEST, _SUPER_X509, _SUPER_PASSWORD),
        *("sessionRequireClientSASLAuth", "enforce.auth.enabled", "enforce.auth.schemes", "allowSaslFailedClients"),
    }
)
"""Supported settings besides `authProvider.NAME` and `superUser.NAME`."""


class AuthSettings:
    """Immutable. Its repr shows no secret.

    Attributes:
        schemes: The supported schemes of access lists, besides world and auth.
        has_sasl: Whether there are users for SASL.
        enforced: A connection needs one of these schemes before its requests are served; empty: none is needed.
        allows_failed_sasl: Whether a connection may continue without an identity after SASL has failed.
    """

    __slots__ = (
        "_passwords",
        "_super_digest",
        "_super_users",
        "_super_x509",
        "allows_failed_sasl",
        "enforced",
        "has_sasl",
        "schemes",
    )

    def __init__(
        self,
        properties: Mapping[str, str] | None = None,
        server_section: tuple[LoginModule, ...] | None = None,
        has_tls: bool = False,
    ) -> None:
        """Parse the settings.

        Args:
            properties: Settings by the names of zookeeper.properties; those of other modules are ignored.
            server_section: The JAAS section `Server`; None: there is none, so no SASL.
            has_tls: Whether there is a port with TLS: then certificates are identities (x509).

        Raises:
            ConfigException: A setting is not supported; the message says why.
        """
        properties = properties or {}
        self.has_sasl = server_section is not None
        self._passwords = _users(server_section or ())
        if _SUPER_PASSWORD in properties:
            self._passwords["super"] = properties[_SUPER_PASSWORD]
        self.schemes = _ALWAYS.union(_providers(properties), ("x509",) if has_tls else ())
        self._super_users = {value for name, value in properties.items() if f"{name}.".startswith(f"{_SUPER_SASL}.")}
        self._super_digest = properties.get(_SUPER_DIGEST)
        self._super_x509 = properties.get(_SUPER_X509)
        self.enforced = _enforced(properties, self.schemes)
        self.allows_failed_sasl = _is_true(properties, "allowSaslFailedClients") and "sasl" not in self.enforced

    def __repr__(self) -> str:
        return f"AuthSettings({', '.join(sorted(self.schemes))}; {len(self._passwords)} users of SASL)"

    def password_of(self, user: str) -> str | None:
        """Return the password of a SASL user; None: there is no such user."""
        return self._passwords.get(user)

    def is_super(self, scheme: str, name: str) -> bool:
        """Return whether the identity has all permissions."""
        if scheme == "sasl":
            return name in self._super_users
        return name == (self._super_x509 if scheme == "x509" else self._super_digest)


def is_auth_setting(name: str) -> bool:
    """Return whether `AuthSettings` reads this name of zookeeper.properties."""
    return name in NAMES or name.startswith((_PROVIDER, f"{_SUPER_SASL}."))


def _users(modules: tuple[LoginModule, ...]) -> dict[str, str]:
    users: dict[str, str] = {}
    for module in modules:
        if module.name != _DIGEST_MODULE:
            raise ConfigException(
                f"JAAS section {DEFAULT_SECTION}: {module.name} is not known: the embedded ZooKeeper's SASL is DIGEST-MD5, with "
                f'users of {_DIGEST_MODULE} (user_NAME="password")'
            )
        for option, value in module.options.items():
            if option.startswith("user_"):
                users[option.removeprefix("user_")] = value
    return users


def _providers(properties: Mapping[str, str]) -> set[str]:
    found = set()
    for name, value in properties.items():
        if name.startswith(_PROVIDER):
            scheme = _PROVIDERS.get(value.strip())
            if scheme is None:
                raise ConfigException.invalid(name, value, f"the embedded ZooKeeper supports {', '.join(_PROVIDERS)}")
            found.add(scheme)
    return found


def _enforced(properties: Mapping[str, str], schemes: frozenset[str]) -> frozenset[str]:
    if _is_true(properties, "sessionRequireClientSASLAuth"):
        wanted = frozenset({"sasl"})
    elif _is_true(properties, "enforce.auth.enabled"):
        wanted = frozenset(filter(None, map(str.strip, properties.get("enforce.auth.schemes", "").split(","))))
        if not wanted:
            raise ConfigException("enforce.auth.enabled is true, so enforce.auth.schemes must be configured")
    else:
        return frozenset()
    if unknown := sorted(wanted - schemes):
        raise ConfigException(
            f"Authentication scheme {unknown[0]} is not available: add its authProvider.{unknown[0]}=CLASS"
        )
    return wanted


def _is_true(properties: Mapping[str, str], name: str) -> bool:
    return properties.get(name, "").strip().lower() == "true"
