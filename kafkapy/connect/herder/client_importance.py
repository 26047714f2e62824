"""The importance of the configs of Kafka's clients, for the definitions of client overrides in a validation."""

from __future__ import annotations

from typing import Final

from kafkapy.common.config_def import Importance

_HIGH: Final = """
    bootstrap.controllers bootstrap.servers buffer.memory compression.type fetch.min.bytes group.id
    group.protocol heartbeat.interval.ms key.deserializer key.serializer max.partition.fetch.bytes
    session.timeout.ms ssl.key.password ssl.keystore.certificate.chain ssl.keystore.key
    ssl.keystore.location ssl.keystore.password ssl.truststore.certificates ssl.truststore.location
    ssl.truststore.password value.deserializer value.serializer
"""
_LOW: Final = """
    acks auto.commit.interval.ms auto.include.jmx.reporter check.crcs client.rack enable.idempotence
    enable.metrics.push fetch.max.wait.ms interceptor.classes max.in.flight.requests.per.connection
    metadata.max.age.ms metadata.max.idle.ms metadata.recovery.strategy metric.reporters metrics.num.samples
    metrics.recording.level metrics.sample.window.ms partitioner.adaptive.partitioning.enable
    partitioner.availability.timeout.ms reconnect.backoff.max.ms reconnect.backoff.ms retry.backoff.max.ms
    retry.backoff.ms sasl.kerberos.kinit.cmd sasl.kerberos.min.time.before.relogin
    sasl.kerberos.ticket.renew.jitter sasl.kerberos.ticket.renew.window.factor sasl.login.connect.timeout.ms
    sasl.login.read.timeout.ms sasl.login.refresh.buffer.seconds sasl.login.refresh.min.period.seconds
    sasl.login.refresh.window.factor sasl.login.refresh.window.jitter sasl.login.retry.backoff.max.ms
    sasl.login.retry.backoff.ms sasl.oauthbearer.clock.skew.seconds sasl.oauthbearer.expected.audience
    sasl.oauthbearer.expected.issuer sasl.oauthbearer.header.urlencode
    sasl.oauthbearer.jwks.endpoint.refresh.ms sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms
    sasl.oauthbearer.jwks.endpoint.retry.backoff.ms sasl.oauthbearer.scope.claim.name
    sasl.oauthbearer.sub.claim.name security.providers ssl.cipher.suites
    ssl.endpoint.identification.algorithm ssl.engine.factory.class ssl.keymanager.algorithm
    ssl.secure.random.implementation ssl.trustmanager.algorithm transaction.timeout.ms transactional.id
"""
_DIFFERENT: Final = {
    ("admin", "client.id"): Importance.MEDIUM,
    ("consumer", "client.id"): Importance.LOW,
    ("producer", "client.id"): Importance.MEDIUM,
    ("admin", "retries"): Importance.LOW,
    ("producer", "retries"): Importance.HIGH,
}
"""Configs whose importance is not the same for each client."""


def importance_of(client: str, name: str) -> Importance:
    """Return the importance of a client's config.

    Args:
        client: producer, consumer or admin.
        name: Kafka's name of the config.

    Example:
        >>> importance_of("producer", "acks").name, importance_of("consumer", "client.id").name
        ('LOW', 'LOW')
    """
    if (client, name) in _DIFFERENT:
        return _DIFFERENT[client, name]
    return Importance.HIGH if name in _HIGH.split() else Importance.LOW if name in _LOW.split() else Importance.MEDIUM
