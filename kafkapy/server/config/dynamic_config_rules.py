"""Rules for broker configs that change at runtime, and the allowed changes (KIP-226)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from typing import Any, Final

from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import ConfigDef, ConfigException, ConfigKey, UpdateMode
from kafkapy.common.config_table import ConfigTable, config
from kafkapy.common.config_validators import at_least
from kafkapy.common.limits import MAX_LONG
from kafkapy.common.wire_enums import ConfigType
from kafkapy.server.config.kafka_config import KafkaConfig


class ReplicationQuotaConfigs(ConfigTable):
    """Configs that are not allowed in a properties file (Kafka's `QuotaConfigs.brokerQuotaConfigs`)."""

    leader_replication_throttled_rate: int = config(
        ConfigType.LONG,
        MAX_LONG,
        at_least(0),
        "Bytes a second that this broker sends for the replicas in leader.replication.throttled.replicas.",
    )
    follower_replication_throttled_rate: int = config(
        ConfigType.LONG,
        MAX_LONG,
        at_least(0),
        "Bytes a second that this broker fetches for the replicas in follower.replication.throttled.replicas.",
    )
    replica_alter_log_dirs_io_max_bytes_per_second: int = config(
        ConfigType.LONG,
        MAX_LONG,
        at_least(0),
        "Bytes a second that moves of replicas between data directories may take.",
    )


DYNAMIC_CONFIGS: Final = frozenset(
    name for name, key in KafkaConfig.definition.items() if key.mode is not UpdateMode.READ_ONLY
)
PER_BROKER_CONFIGS: Final = frozenset(
    name for name, key in KafkaConfig.definition.items() if key.mode is UpdateMode.PER_BROKER
)
DYNAMIC_BROKER_DEFINITION: Final = ConfigDef(
    {**ReplicationQuotaConfigs.definition, **{name: KafkaConfig.definition[name] for name in sorted(DYNAMIC_CONFIGS)}}
)
"""All configs allowed in /config/brokers."""

DYNAMIC_SECURITY_CONFIGS: Final = frozenset(
    {
        *("ssl.keystore.type", "ssl.keystore.location", "ssl.keystore.password", "ssl.key.password"),
        *("ssl.truststore.type", "ssl.truststore.location", "ssl.truststore.password"),
        *("ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.truststore.certificates"),
    }
)
_NON_DYNAMIC: Final = frozenset(KafkaConfig.definition) - DYNAMIC_CONFIGS
_CLUSTER_LEVEL_LISTENER_CONFIGS: Final = ("max.connections", "max.connection.creation.rate", "num.network.threads")
_LISTENER_MECHANISM_CONFIGS: Final = (
    *("sasl.jaas.config", "sasl.login.callback.handler.class", "sasl.login.class"),
    *("sasl.server.callback.handler.class", "connections.max.reauth.ms"),
)
_DYNAMIC_PASSWORDS: Final = tuple(
    name for name in DYNAMIC_CONFIGS if KafkaConfig.definition[name].type is ConfigType.PASSWORD
)
_THREAD_POOLS: Final = (
    *("num.io.threads", "num.replica.fetchers", "num.recovery.threads.per.data.dir", "background.threads"),
)
_LISTENER_CONFIGS: Final = PER_BROKER_CONFIGS.union(_CLUSTER_LEVEL_LISTENER_CONFIGS)
_LISTENER = re.compile(r"listener\.name\.[^.]*\.(.*)")

_SYNONYMS: Final = {
    name: names
    for names in (
        ("log.roll.ms", "log.roll.hours"),
        ("log.roll.jitter.ms", "log.roll.jitter.hours"),
        ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
    )
    for name in names
} | {"log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")}


def broker_config_synonyms(name: str, match_listener_override: bool) -> tuple[str, ...]:
    """Return the names under which the value of `name` may be set, by decreasing priority."""
    if name in _SYNONYMS:
        return _SYNONYMS[name]
    listener = _LISTENER.fullmatch(name) if match_listener_override else None
    if listener:
        mechanism_config = next((c for c in _LISTENER_MECHANISM_CONFIGS if listener[1].endswith(c)), None)
        return name, mechanism_config or listener[1]
    return (name,)


def broker_config_key(name: str) -> ConfigKey | None:
    """Return the definition of a name or a listener's form of it; None if it is unknown."""
    for candidate in (name, *broker_config_synonyms(name, match_listener_override=True)):
        key = KafkaConfig.definition.get(candidate) or DYNAMIC_BROKER_DEFINITION.get(candidate)
        if key is not None:
            return key
    return None


def is_password_config(name: str) -> bool:
    return name.endswith(_DYNAMIC_PASSWORDS)


def per_broker_names(names: Iterable[str]) -> list[str]:
    """Return the names that are allowed only for single brokers, not as a default."""
    return [name for name in names if name in PER_BROKER_CONFIGS or _is_per_broker_listener_config(name)]


def _is_per_broker_listener_config(name: str) -> bool:
    listener = _LISTENER.fullmatch(name)
    return listener is not None and listener[1] not in _CLUSTER_LEVEL_LISTENER_CONFIGS


def non_dynamic_names(names: Iterable[str]) -> list[str]:
    return [name for name in names if name in _NON_DYNAMIC]


def unprefixed_security_names(names: Iterable[str]) -> list[str]:
    """Return the names that can only change for one listener, so they need its prefix."""
    return [name for name in names if name in DYNAMIC_SECURITY_CONFIGS]


def validate_types(properties: Mapping[str, str]) -> None:
    """Raise `ConfigException` for a value that is invalid for its config; custom names may have any value."""
    base = {}
    for name, value in properties.items():
        listener = _LISTENER.fullmatch(name)
        base[listener[1] if listener else name] = value
    DYNAMIC_BROKER_DEFINITION.parse(base)


def validate_names_and_types(properties: Mapping[str, str], per_broker: bool) -> None:
    """Raise `ConfigException` if these are invalid as dynamic configs of one broker (`per_broker`), or of all."""
    _refuse(non_dynamic_names(properties), "Cannot update these configs dynamically")
    _refuse(
        unprefixed_security_names(properties),
        "These security configs can be dynamically updated only per-listener using the listener prefix",
    )
    validate_types(properties)
    if not per_broker:
        _refuse(
            per_broker_names(properties),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )


def _refuse(names: list[str], why: str) -> None:
    if names:
        raise ConfigException(f"{why}: Set({', '.join(names)})")


def _validate_cleaner_threads(old: int, threads: int) -> None:
    if threads < old // 2:
        raise ConfigException(f"Log cleaner threads cannot be reduced to less than half the current value {old}")
    if threads > old * 2:
        raise ConfigException(f"Log cleaner threads cannot be increased to more than double the current value {old}")


def validate_reporters(properties: Mapping[str, str]) -> None:
    """Raise `ConfigException` if a reporter class is set, because these are Java's."""
    if properties.get("metric.reporters"):
        raise ConfigException.invalid(
            "Invalid dynamic configuration",
            "org.apache.kafka.common.config.ConfigException: Validation of dynamic config update of "
            "Set(metric.reporters) failed with class class kafka.server.DynamicMetricsReporters",
        )


def validate_change(current: KafkaConfig, new: KafkaConfig, changed: Set[str]) -> None:
    """Raise `ConfigException` if a running broker cannot change from `current` to `new`; `changed`: the names that
    differ.
    """
    _validate_thread_counts(current, new)
    _validate_cleaner_threads(current.log_cleaner_threads, new.log_cleaner_threads)
    if not _LISTENER_CONFIGS.isdisjoint(changed):
        _validate_listeners(current, new)
    for name in ("max.connections", "max.connection.creation.rate"):
        for listener in [None, *(e.listener_name for e in new.listeners)]:
            old_value, value = _value(current, listener, name), _value(new, listener, name)
            if value != old_value and value <= 0:
                raise ConfigException(f"Invalid {name} {value}")
    if new.producer_id_expiration_ms < 0:
        raise ConfigException(
            f"producer.id.expiration.ms cannot be less than 0, current value is {current.producer_id_expiration_ms}, "
            f"and new value is {new.producer_id_expiration_ms}"
        )


def _value(config: KafkaConfig, listener: str | None, name: str) -> Any:
    return config.get(name) if listener is None else config.listener_value(listener, name)


def _validate_thread_counts(current: KafkaConfig, new: KafkaConfig) -> None:
    counts = [(name, current.get(name), new.get(name)) for name in _THREAD_POOLS]
    for listener in {e.listener_name for e in new.listeners} & {e.listener_name for e in current.listeners}:
        name = "num.network.threads"
        counts.append((name, current.listener_value(listener, name), new.listener_value(listener, name)))
    for name, old, value in counts:
        if value == old:
            continue
        problem = f"Dynamic thread count update validation failed for {name}={value}"
        if value <= 0:
            raise ConfigException(f"{problem}, value should be at least 1")
        if value < old // 2:
            raise ConfigException(f"{problem}, value should be at least half the current value {old}")
        if value > old * 2:
            raise ConfigException(f"{problem}, value should not be greater than double the current value {old}")


def _validate_listeners(current: KafkaConfig, new: KafkaConfig) -> None:
    """Listeners may be added or removed, but the others keep their security (Kafka's `DynamicListenerConfig`)."""
    for name in _names(new.listeners) & _names(current.listeners):
        if _immutable_configs(new, name) != _immutable_configs(current, name):
            raise ConfigException(
                f"Configs cannot be updated dynamically for existing listener ListenerName({name}), "
                "restart broker or create a new listener for update"
            )
        if new.listener_security_protocol_map[name] != current.listener_security_protocol_map[name]:
            raise ConfigException(f"Security protocol cannot be updated for existing listener ListenerName({name})")


def _names(end_points: Iterable[EndPoint]) -> set[str]:
    return {end_point.listener_name for end_point in end_points}


def _immutable_configs(config: KafkaConfig, listener_name: str) -> dict[str, str]:
    prefix = f"listener.name.{listener_name.lower()}."
    return {
        name: value
        for name, value in config.originals.items()
        if name.startswith(prefix)
        and name.removeprefix(prefix) not in DYNAMIC_SECURITY_CONFIGS
        and name.removeprefix(prefix) not in _CLUSTER_LEVEL_LISTENER_CONFIGS
    }
