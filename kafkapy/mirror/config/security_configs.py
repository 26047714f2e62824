"""Configs of secured connections (Kafka's `SslConfigs` and `SaslConfigs`), which connectors and clients share."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kafkapy.common.config_def import Importance, Validator
from kafkapy.common.config_validators import OneOf, between
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef


class _Row(NamedTuple):
    name: str
    type: ConfigType
    default: Any
    importance: Importance
    doc: str
    validator: Validator | None = None


_ROWS: Final = (
    _Row("ssl.protocol", ConfigType.STRING, "TLSv1.3", Importance.MEDIUM, "The TLS protocol of a context."),
    _Row("ssl.provider", ConfigType.STRING, None, Importance.MEDIUM, "Provider of TLS; no effect in Python."),
    _Row("ssl.cipher.suites", ConfigType.LIST, None, Importance.LOW, "Cipher suites that may be used. Default: all."),
    _Row(
        "ssl.enabled.protocols",
        ConfigType.LIST,
        ["TLSv1.2", "TLSv1.3"],
        Importance.MEDIUM,
        "Versions of TLS that may be used.",
    ),
    _Row(
        "ssl.keystore.type", ConfigType.STRING, "JKS", Importance.MEDIUM, "Format of the key store: JKS, PKCS12 or PEM."
    ),
    _Row(
        "ssl.keystore.location", ConfigType.STRING, None, Importance.HIGH, "File with the client's certificate and key."
    ),
    _Row("ssl.keystore.password", ConfigType.PASSWORD, None, Importance.HIGH, "Password of the key store."),
    _Row("ssl.key.password", ConfigType.PASSWORD, None, Importance.HIGH, "Password of the private key."),
    _Row("ssl.keystore.key", ConfigType.PASSWORD, None, Importance.HIGH, "Private key as PEM, in place of a file."),
    _Row(
        "ssl.keystore.certificate.chain",
        ConfigType.PASSWORD,
        None,
        Importance.HIGH,
        "Certificates as PEM, in place of a file.",
    ),
    _Row(
        "ssl.truststore.certificates",
        ConfigType.PASSWORD,
        None,
        Importance.HIGH,
        "Trusted certificates as PEM, in place of a file.",
    ),
    _Row(
        "ssl.truststore.type",
        ConfigType.STRING,
        "JKS",
        Importance.MEDIUM,
        "Format of the trust store: JKS, PKCS12 or PEM.",
    ),
    _Row("ssl.truststore.location", ConfigType.STRING, None, Importance.HIGH, "File with trusted certificates."),
    _Row("ssl.truststore.password", ConfigType.PASSWORD, None, Importance.HIGH, "Password of the trust store."),
    _Row(
        "ssl.keymanager.algorithm",
        ConfigType.STRING,
        "SunX509",
        Importance.LOW,
        "Algorithm of the key manager; no effect in Python.",
    ),
    _Row(
        "ssl.trustmanager.algorithm",
        ConfigType.STRING,
        "PKIX",
        Importance.LOW,
        "Algorithm of the trust manager; no effect in Python.",
    ),
    _Row(
        "ssl.endpoint.identification.algorithm",
        ConfigType.STRING,
        "https",
        Importance.LOW,
        "https: the broker's certificate must have its name; empty: it need not.",
    ),
    _Row(
        "ssl.secure.random.implementation",
        ConfigType.STRING,
        None,
        Importance.LOW,
        "Generator of random numbers; no effect in Python.",
    ),
    _Row("ssl.engine.factory.class", ConfigType.CLASS, None, Importance.LOW, "Class that makes TLS engines."),
    _Row(
        "sasl.kerberos.service.name",
        ConfigType.STRING,
        None,
        Importance.MEDIUM,
        "The brokers' Kerberos principal name.",
    ),
    _Row("sasl.kerberos.kinit.cmd", ConfigType.STRING, "/usr/bin/kinit", Importance.LOW, "Path of Kerberos' kinit."),
    _Row(
        "sasl.kerberos.ticket.renew.window.factor",
        ConfigType.DOUBLE,
        0.8,
        Importance.LOW,
        "Share of a ticket's life after which it is renewed.",
    ),
    _Row(
        "sasl.kerberos.ticket.renew.jitter",
        ConfigType.DOUBLE,
        0.05,
        Importance.LOW,
        "Random share that is added to the time of renewal.",
    ),
    _Row(
        "sasl.kerberos.min.time.before.relogin",
        ConfigType.LONG,
        60_000,
        Importance.LOW,
        "Least time between two logins, in ms.",
    ),
    _Row(
        "sasl.login.refresh.window.factor",
        ConfigType.DOUBLE,
        0.8,
        Importance.LOW,
        "Share of a credential's life after which it is refreshed.",
        between(0.5, 1.0),
    ),
    _Row(
        "sasl.login.refresh.window.jitter",
        ConfigType.DOUBLE,
        0.05,
        Importance.LOW,
        "Random share that is added to the time of refresh.",
        between(0.0, 0.25),
    ),
    _Row(
        "sasl.login.refresh.min.period.seconds",
        ConfigType.SHORT,
        60,
        Importance.LOW,
        "Least time between two refreshes, in s.",
        between(0, 900),
    ),
    _Row(
        "sasl.login.refresh.buffer.seconds",
        ConfigType.SHORT,
        300,
        Importance.LOW,
        "Time before expiry in which a refresh is tried early, in s.",
        between(0, 3600),
    ),
    _Row("sasl.mechanism", ConfigType.STRING, "GSSAPI", Importance.MEDIUM, "How the client logs in."),
    _Row(
        "sasl.jaas.config",
        ConfigType.PASSWORD,
        None,
        Importance.MEDIUM,
        "Login module with its options, in JAAS syntax.",
    ),
    _Row(
        "sasl.client.callback.handler.class",
        ConfigType.CLASS,
        None,
        Importance.MEDIUM,
        "Class of the client's callback handler.",
    ),
    _Row(
        "sasl.login.callback.handler.class",
        ConfigType.CLASS,
        None,
        Importance.MEDIUM,
        "Class of the login callback handler.",
    ),
    _Row("sasl.login.class", ConfigType.CLASS, None, Importance.MEDIUM, "Class of the login."),
    _Row(
        "sasl.login.connect.timeout.ms",
        ConfigType.INT,
        None,
        Importance.LOW,
        "Time to connect to the token endpoint, in ms.",
    ),
    _Row(
        "sasl.login.read.timeout.ms",
        ConfigType.INT,
        None,
        Importance.LOW,
        "Time to read from the token endpoint, in ms.",
    ),
    _Row(
        "sasl.login.retry.backoff.max.ms",
        ConfigType.LONG,
        10_000,
        Importance.LOW,
        "The longest pause between two logins, in ms.",
    ),
    _Row(
        "sasl.login.retry.backoff.ms",
        ConfigType.LONG,
        100,
        Importance.LOW,
        "The first pause between two logins, in ms.",
    ),
    _Row("sasl.oauthbearer.scope.claim.name", ConfigType.STRING, "scope", Importance.LOW, "Claim with the scope."),
    _Row("sasl.oauthbearer.sub.claim.name", ConfigType.STRING, "sub", Importance.LOW, "Claim with the subject."),
    _Row(
        "sasl.oauthbearer.token.endpoint.url", ConfigType.STRING, None, Importance.MEDIUM, "URL of the token endpoint."
    ),
    _Row(
        "sasl.oauthbearer.jwks.endpoint.url",
        ConfigType.STRING,
        None,
        Importance.MEDIUM,
        "URL of the keys that tokens are signed with.",
    ),
    _Row(
        "sasl.oauthbearer.jwks.endpoint.refresh.ms",
        ConfigType.LONG,
        3_600_000,
        Importance.LOW,
        "Pause between two readings of those keys, in ms.",
    ),
    _Row(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        ConfigType.LONG,
        10_000,
        Importance.LOW,
        "The longest pause between two tries to read the keys, in ms.",
    ),
    _Row(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
        ConfigType.LONG,
        100,
        Importance.LOW,
        "The first pause between two tries to read the keys, in ms.",
    ),
    _Row(
        "sasl.oauthbearer.clock.skew.seconds",
        ConfigType.INT,
        30,
        Importance.LOW,
        "Difference of clocks that is allowed, in s.",
    ),
    _Row(
        "sasl.oauthbearer.expected.audience",
        ConfigType.LIST,
        None,
        Importance.LOW,
        "Audiences of tokens that are accepted.",
    ),
    _Row(
        "sasl.oauthbearer.expected.issuer",
        ConfigType.STRING,
        None,
        Importance.LOW,
        "Issuer of tokens that are accepted.",
    ),
    _Row(
        "sasl.oauthbearer.header.urlencode",
        ConfigType.BOOLEAN,
        False,
        Importance.LOW,
        "Whether client id and secret are encoded as in a URL.",
    ),
)

CLIENT_CONFIG_NAMES: Final = frozenset({"bootstrap.servers", "security.protocol", *(row.name for row in _ROWS)})
"""Connection configs of every client of a cluster; others are set for a kind of client."""


def define_security_protocol(definitions: ConfigDef) -> None:
    """Add `security.protocol`."""
    definitions.define(
        "security.protocol",
        ConfigType.STRING,
        "PLAINTEXT",
        validator=OneOf("SASL_SSL", "PLAINTEXT", "SSL", "SASL_PLAINTEXT", case_insensitive=True),
        importance=Importance.MEDIUM,
        doc="How connections to brokers are secured.",
    )


def define_ssl_and_sasl(definitions: ConfigDef) -> None:
    """Add all configs `ssl.*` and `sasl.*`."""
    for name, type, default, importance, doc, validator in _ROWS:
        definitions.define(name, type, default, importance=importance, doc=doc, validator=validator)
