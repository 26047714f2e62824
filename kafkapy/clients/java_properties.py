"""Kafka's client configs by their Java names, and how each is converted for a client of this package.

`COMMON` has the configs of all Java clients of 3.9, `ADMIN` those of the admin client. Each config is one of:

- an argument of a Python client;
- without effect here: a warning names it if its value is not the default;
- refused, with a message.

A warning also names configs that Kafka does not have.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kafkapy.clients.java_security import sasl_arguments, tls_arguments
from kafkapy.common.config_def import (
    ConfigException,
    ConfigKey,
)
from kafkapy.common.config_validators import OneOf, at_least
from kafkapy.common.wire_enums import ConfigType
from kafkapy.errors import KafkaConfigurationError

BOOLEAN, STRING, INT, SHORT, LONG = (
    ConfigType.BOOLEAN,
    ConfigType.STRING,
    ConfigType.INT,
    ConfigType.SHORT,
    ConfigType.LONG,
)
DOUBLE, LIST, CLASS, PASSWORD = ConfigType.DOUBLE, ConfigType.LIST, ConfigType.CLASS, ConfigType.PASSWORD

Arguments = dict[str, Any]
"""Keyword arguments of a Python client."""


class Property(NamedTuple):
    """The conversion of one config: exactly one of the three fields after `default` is set, or none for `security`."""

    type: ConfigType
    default: Any
    argument: Callable[[str, Any], Arguments] | None = None
    no_effect: str = ""
    """Why it has no effect."""
    refused: str = ""
    """Why the config is not supported."""
    validator: Any = None


def acts(
    type: ConfigType, default: Any, convert: Callable[[Any], Any] = lambda value: value, valid: Any = None
) -> Property:
    """Convert to the argument `name`; default: the config's name with underscores."""
    return Property(type, default, lambda name, value: {name.replace(".", "_"): convert(value)}, validator=valid)


def no_effect(type: ConfigType, default: Any, why: str) -> Property:
    return Property(type, default, no_effect=why)


def refused(type: ConfigType, default: Any, why: str) -> Property:
    return Property(type, default, refused=why)


def security(type: ConfigType, default: Any) -> Property:
    """Define a config that `java_security` converts, together with the others of TLS and SASL."""
    return Property(type, default)


def _or_system(size: int) -> int | None:
    return None if size == -1 else size


_JVM = "it is about the Java virtual machine"
_JAVA_CLASS = "it names a Java class"
_REFRESH = "the Kerberos library gets new tickets by itself"
_OAUTH = "it is for those that check tokens"

COMMON = {
    "bootstrap.servers": acts(LIST, []),
    "client.id": acts(STRING, ""),
    "client.dns.lookup": acts(STRING, "use_all_dns_ips"),
    "connections.max.idle.ms": acts(LONG, 540_000),
    "metadata.max.age.ms": acts(LONG, 300_000, valid=at_least(0)),
    "receive.buffer.bytes": acts(INT, None, _or_system, at_least(-1)),
    "send.buffer.bytes": acts(INT, 131_072, _or_system, at_least(-1)),
    "reconnect.backoff.ms": acts(LONG, 50, valid=at_least(0)),
    "reconnect.backoff.max.ms": acts(LONG, 1_000, valid=at_least(0)),
    "retry.backoff.ms": acts(LONG, 100, valid=at_least(0)),
    "retry.backoff.max.ms": acts(LONG, 1_000, valid=at_least(0)),
    "request.timeout.ms": acts(INT, 30_000, valid=at_least(0)),
    "socket.connection.setup.timeout.ms": acts(LONG, 10_000),
    "socket.connection.setup.timeout.max.ms": acts(LONG, 30_000),
    "security.protocol": acts(
        STRING, "PLAINTEXT", str.upper, OneOf("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL", case_insensitive=True)
    ),
    "auto.include.jmx.reporter": no_effect(BOOLEAN, True, _JVM),
    "config.providers": refused(LIST, [], _JAVA_CLASS),
    "enable.metrics.push": no_effect(BOOLEAN, True, "metrics are never pushed"),
    "interceptor.classes": refused(LIST, [], _JAVA_CLASS),
    "metadata.recovery.strategy": no_effect(STRING, "none", "the bootstrap servers are always tried again"),
    "metric.reporters": refused(LIST, [], _JAVA_CLASS),
    "metrics.num.samples": acts(INT, 2, valid=at_least(1)),
    "metrics.recording.level": no_effect(STRING, "INFO", "all metrics are recorded"),
    "metrics.sample.window.ms": acts(LONG, 30_000, valid=at_least(0)),
    "security.providers": no_effect(STRING, None, _JVM),
    "sasl.mechanism": security(STRING, "GSSAPI"),
    "sasl.jaas.config": security(PASSWORD, None),
    "sasl.client.callback.handler.class": security(CLASS, None),
    "sasl.login.callback.handler.class": security(CLASS, None),
    "sasl.login.class": security(CLASS, None),
    "sasl.kerberos.kinit.cmd": no_effect(STRING, "/usr/bin/kinit", _REFRESH),
    "sasl.kerberos.min.time.before.relogin": no_effect(LONG, 60_000, _REFRESH),
    "sasl.kerberos.service.name": security(STRING, None),
    "sasl.kerberos.ticket.renew.jitter": no_effect(DOUBLE, 0.05, _REFRESH),
    "sasl.kerberos.ticket.renew.window.factor": no_effect(DOUBLE, 0.8, _REFRESH),
    "sasl.login.connect.timeout.ms": security(INT, None),
    "sasl.login.read.timeout.ms": security(INT, None),
    "sasl.login.refresh.buffer.seconds": security(SHORT, 300),
    "sasl.login.refresh.min.period.seconds": security(SHORT, 60),
    "sasl.login.refresh.window.factor": security(DOUBLE, 0.8),
    "sasl.login.refresh.window.jitter": security(DOUBLE, 0.05),
    "sasl.login.retry.backoff.ms": security(LONG, 100),
    "sasl.login.retry.backoff.max.ms": security(LONG, 10_000),
    "sasl.oauthbearer.clock.skew.seconds": no_effect(INT, 30, _OAUTH),
    "sasl.oauthbearer.expected.audience": no_effect(LIST, None, _OAUTH),
    "sasl.oauthbearer.expected.issuer": no_effect(STRING, None, _OAUTH),
    "sasl.oauthbearer.header.urlencode": security(BOOLEAN, False),
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": no_effect(LONG, 3_600_000, _OAUTH),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": no_effect(LONG, 100, _OAUTH),
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": no_effect(LONG, 10_000, _OAUTH),
    "sasl.oauthbearer.jwks.endpoint.url": no_effect(STRING, None, _OAUTH),
    "sasl.oauthbearer.scope.claim.name": no_effect(STRING, "scope", _OAUTH),
    "sasl.oauthbearer.sub.claim.name": no_effect(STRING, "sub", _OAUTH),
    "sasl.oauthbearer.token.endpoint.url": security(STRING, None),
    "ssl.cipher.suites": security(LIST, None),
    "ssl.enabled.protocols": security(LIST, ["TLSv1.2", "TLSv1.3"]),
    "ssl.endpoint.identification.algorithm": security(STRING, "https"),
    "ssl.engine.factory.class": refused(CLASS, None, _JAVA_CLASS),
    "ssl.key.password": security(PASSWORD, None),
    "ssl.keymanager.algorithm": no_effect(STRING, "SunX509", _JVM),
    "ssl.keystore.certificate.chain": security(PASSWORD, None),
    "ssl.keystore.key": security(PASSWORD, None),
    "ssl.keystore.location": security(STRING, None),
    "ssl.keystore.password": security(PASSWORD, None),
    "ssl.keystore.type": security(STRING, "JKS"),
    "ssl.protocol": no_effect(STRING, "TLSv1.3", _JVM),
    "ssl.provider": no_effect(STRING, None, _JVM),
    "ssl.secure.random.implementation": no_effect(STRING, None, _JVM),
    "ssl.trustmanager.algorithm": no_effect(STRING, "PKIX", _JVM),
    "ssl.truststore.certificates": security(PASSWORD, None),
    "ssl.truststore.location": security(STRING, None),
    "ssl.truststore.password": security(PASSWORD, None),
    "ssl.truststore.type": security(STRING, "JKS"),
}

ADMIN = COMMON | {
    "default.api.timeout.ms": acts(INT, 60_000, valid=at_least(0)),
    "bootstrap.controllers": refused(LIST, [], "clusters with ZooKeeper have no controllers to speak to"),
    "retries": no_effect(INT, 2_147_483_647, "the time-outs say when a request is given up"),
}


def arguments_of(table: Mapping[str, Property], properties: Mapping[str, str]) -> tuple[Arguments, list[str]]:
    """Return arguments and warnings. Raises `KafkaConfigurationError` for wrong values and unsupported configs."""
    arguments: Arguments = {}
    warnings = []
    secure: dict[str, Any] = {}
    for name, text in properties.items():
        known = table.get(name)
        if known is None:
            warnings.append(f"The config {name} is not known to Kafka's clients and has no effect")
            continue
        value = _parse(name, text, known)
        if known.argument is not None:
            arguments |= known.argument(name, value)
        elif known.no_effect:
            if value != known.default:
                warnings.append(f"The config {name} has no effect here: {known.no_effect}")
        elif known.refused:
            if value != known.default:
                raise KafkaConfigurationError(f"{name}={text} is not supported: {known.refused}")
        else:
            secure[name] = getattr(value, "value", value)
    return arguments | _security(arguments.get("security_protocol", "PLAINTEXT"), secure, warnings), warnings


def _parse(name: str, text: str, known: Property) -> Any:
    try:
        return ConfigKey(name, known.type, known.default, validator=known.validator).parse(text)
    except ConfigException as error:
        raise KafkaConfigurationError(str(error)) from None


def _security(protocol: str, values: dict[str, Any], warnings: list[str]) -> Arguments:
    arguments: Arguments = {}
    for prefix, used, convert in (
        ("ssl.", protocol.endswith("SSL"), tls_arguments),
        ("sasl.", protocol.startswith("SASL"), sasl_arguments),
    ):
        mine = {name: value for name, value in values.items() if name.startswith(prefix)}
        if used:
            arguments |= convert(mine)
        else:
            warnings += [f"The config {name} has no effect with security.protocol={protocol}" for name in mine]
    return arguments
