"""The TLS configs other than stores: protocols, cipher suites, client authentication, host names, Java's providers."""

from __future__ import annotations

import ssl
from typing import Final, NamedTuple

from kafkapy.common.config_def import ConfigException
from kafkapy.security.tls.cipher_suites import TLS_1_3_SUITES, CipherSuites
from kafkapy.security.tls.config_values import TlsConfigs, list_of, secret_of, text_of
from kafkapy.security.tls.tls_1_3_choice import can_choose_suites, choose_suites

PROTOCOLS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
DEFAULT_PROTOCOLS: Final = "TLSv1.2,TLSv1.3"
_OLD_PROTOCOLS = ("SSLv2Hello", "SSLv3", "TLSv1", "TLSv1.1")
_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_RANDOM = ("SHA1PRNG", "NativePRNG", "NativePRNGBlocking", "NativePRNGNonBlocking", "DRBG", "Windows-PRNG", "PKCS11")
_JAVA_CHOICES = {
    "ssl.provider": ("SunJSSE",),
    "ssl.keymanager.algorithm": ("SunX509", "NewSunX509", "PKIX"),
    "ssl.trustmanager.algorithm": ("PKIX", "SunX509", "X509", "X.509"),
    "ssl.secure.random.implementation": _RANDOM,
}
_MIN_BITS = 112
_OPENSSL_DOES = "here OpenSSL does that work"


class TlsSettings(NamedTuple):
    """The settings of a context. `notes` are log messages about configs that are accepted but have less effect than in
    Java."""

    minimum: ssl.TLSVersion
    maximum: ssl.TLSVersion
    cipher_string: str | None
    tls_1_3_suites: list[str]
    verify_clients: ssl.VerifyMode
    check_hostname: bool
    notes: list[str]

    @classmethod
    def of(cls, configs: TlsConfigs) -> TlsSettings:
        """
        Raises:
            ConfigException: A value is unknown, or not supported here.

        Example:
            >>> TlsSettings.of({"ssl.enabled.protocols": "TLSv1.3"}).minimum.name
            'TLSv1_3'
        """
        notes: list[str] = []
        _check_java_choices(configs)
        protocols = _protocols(configs, notes)
        suites = CipherSuites.of(list_of(configs, "ssl.cipher.suites", ""))
        if suites.unknown:
            raise ConfigException.invalid(
                "ssl.cipher.suites", suites.unknown, "there are no such cipher suites; IANA's names are expected"
            )
        if suites.tls_1_2 or suites.tls_1_3:
            protocols = _protocols_with(suites, protocols)
        return cls(
            protocols[0],
            protocols[-1],
            _cipher_string(suites.tls_1_2) if suites.tls_1_2 else None,
            _choice_of_tls_1_3(suites.tls_1_3, protocols, notes),
            _client_auth(configs),
            _checks_hostname(configs),
            notes,
        )


def _check_java_choices(configs: TlsConfigs) -> None:
    for name, known in _JAVA_CHOICES.items():
        value = text_of(configs, name)
        if value is not None and value not in known:
            raise ConfigException.invalid(
                name, value, f"{_OPENSSL_DOES}, so only Java's own are accepted, without effect: {', '.join(known)}"
            )
    for name in ("security.providers", "ssl.engine.factory.class"):
        value = text_of(configs, name)
        if value is not None:
            raise ConfigException.invalid(name, value, f"it names a Java class, and {_OPENSSL_DOES}; leave it out")


def _protocols(configs: TlsConfigs, notes: list[str]) -> list[ssl.TLSVersion]:
    protocol = text_of(configs, "ssl.protocol", "TLSv1.3") or "TLSv1.3"
    if protocol not in (*PROTOCOLS, "TLS", "SSL", *_OLD_PROTOCOLS):
        raise ConfigException.invalid("ssl.protocol", protocol, f"one of TLS, {', '.join(PROTOCOLS)} is expected")
    enabled = list_of(configs, "ssl.enabled.protocols", DEFAULT_PROTOCOLS)
    if not enabled:
        enabled = ["TLSv1.2"] if protocol == "TLSv1.2" else list(PROTOCOLS)
    for name in enabled:
        if name in _OLD_PROTOCOLS:
            notes.append(f"ssl.enabled.protocols: {name} is insecure and stays off")
        elif name not in PROTOCOLS:
            raise ConfigException.invalid("ssl.enabled.protocols", name, f"{', '.join(PROTOCOLS)} are known")
    found = [version for name, version in PROTOCOLS.items() if name in enabled]
    if not found:
        raise ConfigException.invalid(
            "ssl.enabled.protocols", enabled, f"these are insecure and stay off; {', '.join(PROTOCOLS)} are supported"
        )
    return found


def _protocols_with(suites: CipherSuites, protocols: list[ssl.TLSVersion]) -> list[ssl.TLSVersion]:
    """Return the protocols for which one of the configured suites exists."""
    has = {ssl.TLSVersion.TLSv1_2: bool(suites.tls_1_2), ssl.TLSVersion.TLSv1_3: bool(suites.tls_1_3)}
    found = [each for each in protocols if has[each]]
    if not found:
        raise ConfigException.invalid(
            "ssl.cipher.suites", [*suites.tls_1_2, *suites.tls_1_3], "none is of a protocol of ssl.enabled.protocols"
        )
    return found


def _cipher_string(names: list[str]) -> str:
    """Return OpenSSL's cipher list. Raises ConfigException for suites that this OpenSSL lacks, or disables as
    insecure."""
    for name in names:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.set_ciphers(name)
        except ssl.SSLError:
            raise ConfigException.invalid(
                "ssl.cipher.suites", name, f"{ssl.OPENSSL_VERSION} does not have it; leave it out"
            ) from None
        described = next((each for each in context.get_ciphers() if each["name"] == name), None)
        if described is not None and (described["strength_bits"] < _MIN_BITS or described["auth"] == "auth-null"):
            raise ConfigException.invalid("ssl.cipher.suites", name, "it is too weak for OpenSSL; leave it out")
    return ":".join(names)


def _choice_of_tls_1_3(suites: list[str], protocols: list[ssl.TLSVersion], notes: list[str]) -> list[str]:
    if not suites or ssl.TLSVersion.TLSv1_3 not in protocols:
        return []
    if can_choose_suites():
        try:
            choose_suites(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), suites)
        except ssl.SSLError as error:
            raise ConfigException.invalid("ssl.cipher.suites", suites, f"{error}; leave it out") from None
        return suites
    on_by_default = TLS_1_3_SUITES[:3]
    missing = [each for each in suites if each not in on_by_default]
    if set(suites) <= set(missing):
        raise ConfigException.invalid(
            "ssl.cipher.suites", missing, f"this Python has only {', '.join(on_by_default)} of TLS 1.3"
        )
    if set(suites) != set(on_by_default):
        notes.append(
            f"ssl.cipher.suites: this Python cannot choose among the suites of TLS 1.3, so {', '.join(on_by_default)} "
            "are all on; ssl.enabled.protocols=TLSv1.2 makes the choice count"
        )
    return []


def _client_auth(configs: TlsConfigs) -> ssl.VerifyMode:
    value = text_of(configs, "ssl.client.auth", "none") or "none"
    if value.lower() not in _CLIENT_AUTH:
        raise ConfigException.invalid("ssl.client.auth", value, f"one of {', '.join(_CLIENT_AUTH)} is expected")
    return _CLIENT_AUTH[value.lower()]


def _checks_hostname(configs: TlsConfigs) -> bool:
    name = "ssl.endpoint.identification.algorithm"
    value = secret_of(configs, name)
    if value is None:
        return name not in configs
    if value.strip().lower() not in ("https", ""):
        raise ConfigException.invalid(name, value, "https is expected, or nothing for no check")
    return bool(value.strip())
