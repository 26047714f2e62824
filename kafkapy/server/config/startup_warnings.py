"""Warnings at start: configs without effect, unknown and deprecated ones."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Final

from kafkapy.common import metadata_version
from kafkapy.common.config_def import to_text
from kafkapy.common.suggestions import suggestion
from kafkapy.log.log_config import LogConfig
from kafkapy.server.config.kafka_config import KafkaConfig, base_name
from kafkapy.server.config.tables.kraft import KRaftConfigs
from kafkapy.server.config.tables.security import SecurityConfigs
from kafkapy.server.config.tables.tiered_storage import TieredStorageConfigs

log = logging.getLogger("kafkapy.server.KafkaConfig")

NOT_ACTED_ON: Final = (
    frozenset(KRaftConfigs.definition)
    | frozenset(TieredStorageConfigs.definition)
    | frozenset(SecurityConfigs.definition)
    | {
        # plug-ins are Java classes
        *("kafka.metrics.polling.interval.secs", "kafka.metrics.reporters", "metric.reporters"),
        "auto.include.jmx.reporter",
        # metrics
        *("metrics.num.samples", "metrics.recording.level", "metrics.sample.window.ms", "telemetry.max.bytes"),
        # there is no queue of requests: each is handled when it is read, one for each connection (and up to five
        # Produce requests that wait for followers)
        "queued.max.requests",
        *("socket.connection.setup.timeout.max.ms", "log.dir.failure.timeout.ms"),
        "max.request.partition.size.limit",
    }
) - {
    # used, if only in checks or in responses to clients
    *("node.id", "process.roles", "zookeeper.metadata.migration.enable", "controller.listener.names"),
    *("early.start.listeners", "group.coordinator.rebalance.protocols", "principal.builder.class"),
    # used by listeners with TLS
    *(name for name in KafkaConfig.definition if name.startswith("ssl.")),
    # used by listeners with SASL, and by authorizers
    *("authorizer.class.name", "sasl.enabled.mechanisms", "sasl.jaas.config", "sasl.mechanism.inter.broker.protocol"),
    *("connections.max.reauth.ms", "connection.failed.authentication.delay.ms", "sasl.server.max.receive.size"),
    *("sasl.kerberos.principal.to.local.rules", "sasl.server.callback.handler.class"),
    *(name for name in KafkaConfig.definition if name.startswith("delegation.token.")),
    # used for connections between brokers
    *("sasl.kerberos.service.name", "sasl.client.callback.handler.class", "sasl.login.callback.handler.class"),
    *(
        "sasl.login.class",
        "sasl.oauthbearer.token.endpoint.url",
        "sasl.login.connect.timeout.ms",
        "sasl.login.read.timeout.ms",
    ),
    *(name for name in KafkaConfig.definition if name.startswith(("sasl.login.refresh.", "sasl.login.retry."))),
    *(name for name in KafkaConfig.definition if name.startswith("sasl.oauthbearer.") and ".token." not in name),
    # used for connections to ZooKeeper, and for passwords stored there
    *(name for name in KafkaConfig.definition if name.startswith(("zookeeper.ssl.", "password.encoder."))),
    *("zookeeper.clientCnxnSocket", "zookeeper.set.acl"),
}
"""Known configs without effect in this broker: a warning names those with a value other than the default."""


_OF_AUTHORIZERS: Final = ("super.users", "allow.everyone.if.no.acl.found", "authorizer.zookeeper.")
"""Configs of `AclAuthorizer`."""

_OF_FORMER_VERSIONS: Final = {
    "host.name": "listeners",
    "port": "listeners",
    "advertised.host.name": "advertised.listeners",
    "advertised.port": "advertised.listeners",
}
"""Configs that Kafka has removed -> their replacements."""


def not_acted_on(config: KafkaConfig) -> dict[str, str]:
    """Return the configs without effect whose value is not the default; secrets are hidden."""
    ignored = {}
    for name in config.originals:
        key = KafkaConfig.definition.get(base_name(name))
        if key is None or key.name not in NOT_ACTED_ON:
            continue
        value = config.get(name) if name in KafkaConfig.definition else key.parse(config.originals[name])
        if value != key.default:
            ignored[name] = to_text(value)
    return ignored


def unknown_names(names: Iterable[str]) -> list[str]:
    """Return the names that are neither configs of a broker nor of Kafka's authorizer, sorted."""
    return sorted(
        name for name in names if base_name(name) not in KafkaConfig.definition and not name.startswith(_OF_AUTHORIZERS)
    )


def misspelt(names: Iterable[str], own: Iterable[str] = ()) -> list[str]:
    """Return `x is unknown; did you mean y?` for each unknown name that resembles a known one.

    `own`: kafkapy's own configs, which have been removed from `names`.
    """
    of_topics = {key.name: key.synonyms[0] for key in LogConfig.definition.values() if key.synonyms}
    renamed = {**of_topics, **_OF_FORMER_VERSIONS}
    known = [*KafkaConfig.definition, *own]
    sentences = []
    for name in unknown_names(names):
        base = base_name(name)
        if found := renamed.get(base) or suggestion(base, known):
            sentences.append(f"{name} is unknown; did you mean {name.removesuffix(base)}{found}?")
    return sentences


def log_config(config: KafkaConfig, own: Iterable[str] = ()) -> None:
    """Log the values that are set, and a warning for each that is unknown, has no effect, or is deprecated.

    `own`: kafkapy's own configs, which have been removed from `config`.
    """
    log.info("KafkaConfig values: %s", config.values_text())
    if unknown := unknown_names(config.originals):
        log.warning("These configurations '[%s]' were supplied but are not used yet.", ", ".join(unknown))
    for sentence in misspelt(config.originals, own):
        log.warning("%s", sentence)
    ignored = not_acted_on(config)
    of_security = {name: value for name, value in ignored.items() if base_name(name) in SecurityConfigs.definition}
    others = {name: value for name, value in ignored.items() if name not in of_security}
    if others:
        log.warning("These configurations are known, but kafkapy does not act on them yet: %s", _list_of(others))
    if of_security:
        log.warning(
            "These configurations of security are known, but kafkapy does not act on them yet: %s", _list_of(of_security),
        )  # fmt: skip
    if "offsets.commit.required.acks" in config.originals:
        log.warning("offsets.commit.required.acks is deprecated and it will be removed in Apache Kafka 4.0.")
    ignored_format = metadata_version.is_message_format_ignored(config.inter_broker_protocol_version)
    if ignored_format and metadata_version.record_version(config.log_message_format_version) < 2:
        log.warning(
            "Broker configuration log.message.format.version with value %s is ignored because the inter-broker "
            "protocol version `%s` is greater or equal than 3.0. This configuration is deprecated and it will be "
            "removed in Apache Kafka 4.0.",
            config.log_message_format_version,
            config.inter_broker_protocol_version,
        )


def _list_of(configs: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={value}" for name, value in sorted(configs.items()))


SPARE_DESCRIPTORS: Final = 1000
"""File descriptors reserved for connections, ZooKeeper and files that are open for a short time."""


def warn_of_open_files_limit(partitions: int, segments: int, limit: int) -> None:
    """Log a warning if the limit of open files may be too low for the logs.

    `limit`: how many files this process may have open (`ulimit -n`). A segment in use has one open file, its indexes
    none.
    """
    needed = segments + SPARE_DESCRIPTORS
    if limit < needed:
        log.warning(
            "This process may have %d files open (ulimit -n), but %d partitions with %d segments here can need %d, and each "
            "connection more one more: raise the limit (LimitNOFILE of a systemd unit).",
            limit,
            partitions,
            segments,
            needed,
        )
