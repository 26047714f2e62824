"""The configs of a distributed worker (Kafka's `WorkerConfig` and `DistributedConfig`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import OneOf, at_least, between
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import NO_DEFAULT, ConfigDef
from kafkapy.connect.config.validators import Described
from kafkapy.connect.group.assignment import ConnectProtocol
from kafkapy.connect.herder.session_keys import is_known
from kafkapy.connect.herder.settings import HerderSettings
from kafkapy.group_member.group_protocol import GroupRebalanceConfig

_MOST_INT = 2**31 - 1
_OWN = {"topic", "partitions", "replication.factor", "cleanup.policy"}


def worker_config_def() -> ConfigDef:
    """Return the definitions of every worker's configs, standalone or distributed."""
    low, high = Importance.LOW, Importance.HIGH
    return (
        ConfigDef()
        .define("bootstrap.servers", ConfigType.LIST, "localhost:9092", importance=high, doc="host:port of brokers.")
        .define("key.converter", ConfigType.STRING, NO_DEFAULT, importance=high, doc="Class for keys.")
        .define("value.converter", ConfigType.STRING, NO_DEFAULT, importance=high, doc="Class for values.")
        .define(
            "header.converter",
            ConfigType.STRING,
            "org.apache.kafka.connect.storage.SimpleHeaderConverter",
            importance=low,
            doc="Class for headers.",
        )
        .define("task.shutdown.graceful.timeout.ms", ConfigType.LONG, 5_000, importance=low, doc="Time to stop, in ms.")
        .define(
            "offset.flush.interval.ms", ConfigType.LONG, 60_000, importance=low, doc="Pause between commits, in ms."
        )
        .define("offset.flush.timeout.ms", ConfigType.LONG, 5_000, importance=low, doc="Time of a commit, in ms.")
        .define("plugin.path", ConfigType.LIST, None, importance=low, doc="Import paths and entry points of plugins.")
        .define("config.providers", ConfigType.LIST, "", importance=low, doc="Names of config providers.")
        .define(
            "connector.client.config.override.policy",
            ConfigType.STRING,
            "All",
            importance=low,
            doc="Which client configs connectors may override: All, None, Principal.",
        )
        .define("topic.creation.enable", ConfigType.BOOLEAN, True, importance=low, doc="May sources create topics?")
        .define(
            "topic.tracking.enable", ConfigType.BOOLEAN, True, importance=low, doc="Are topics of connectors noted?"
        )
        .define("topic.tracking.allow.reset", ConfigType.BOOLEAN, True, importance=low, doc="May the notes be reset?")
    )


def distributed_config_def() -> ConfigDef:
    """Return the definitions of a distributed worker's configs."""
    medium, low, high = Importance.MEDIUM, Importance.LOW, Importance.HIGH
    definitions = worker_config_def()
    definitions.define("group.id", ConfigType.STRING, NO_DEFAULT, importance=high, doc="Id of the cluster of workers.")
    for name, default in (
        ("session.timeout.ms", 10_000),
        ("rebalance.timeout.ms", 60_000),
        ("heartbeat.interval.ms", 3_000),
    ):
        definitions.define(name, ConfigType.INT, default, importance=high, doc="A time of the group protocol, in ms.")
    definitions.define(
        "exactly.once.source.support",
        ConfigType.STRING,
        "disabled",
        validator=OneOf("DISABLED", "PREPARING", "ENABLED", case_insensitive=True),
        importance=high,
        doc="Do sources write exactly once: disabled, preparing (on the way there), enabled.",
    )
    definitions.define("client.id", ConfigType.STRING, "", importance=low, doc="Name in the brokers' logs.")
    definitions.define("worker.sync.timeout.ms", ConfigType.INT, 3_000, importance=medium, doc="Time to read configs.")
    definitions.define("worker.unsync.backoff.ms", ConfigType.INT, 300_000, importance=medium, doc="Pause, in ms.")
    for kind, partitions in (("offset", 25), ("config", None), ("status", 5)):
        prefix = f"{kind}.storage."
        definitions.define(f"{prefix}topic", ConfigType.STRING, NO_DEFAULT, importance=high, doc=f"Topic of {kind}s.")
        if partitions is not None:
            definitions.define(
                f"{prefix}partitions",
                ConfigType.INT,
                partitions,
                validator=Described(_positive_or_default("Number of partitions must be positive"), "positive, or -1"),
                importance=low,
                doc="Partitions if the topic has to be made.",
            )
        definitions.define(
            f"{prefix}replication.factor",
            ConfigType.SHORT,
            3,
            validator=Described(
                _positive_or_default(
                    "Replication factor must be positive and not larger than the number of brokers in the Kafka cluster"
                ),
                "positive, or -1",
            ),
            importance=low,
            doc="Replicas if the topic has to be made.",
        )
    _define_group_configs(definitions)
    return definitions


def _define_group_configs(definitions: ConfigDef) -> None:
    low = Importance.LOW
    definitions.define(
        "connect.protocol",
        ConfigType.STRING,
        "sessioned",
        validator=Described(_check_protocol, "[eager, compatible, sessioned]"),
        importance=low,
        doc="The newest group protocol that the worker speaks.",
    )
    definitions.define(
        "scheduled.rebalance.max.delay.ms",
        ConfigType.INT,
        300_000,
        validator=between(0, _MOST_INT),
        importance=low,
        doc="How long tasks of a worker that has left wait for it, in ms.",
    )
    definitions.define(
        "inter.worker.key.ttl.ms", ConfigType.INT, 3_600_000, validator=at_least(0), importance=low, doc="In ms."
    )
    definitions.define("inter.worker.key.size", ConfigType.INT, None, importance=low, doc="Bits of the session key.")
    for name in ("key.generation.algorithm", "signature.algorithm"):
        definitions.define(
            f"inter.worker.{name}",
            ConfigType.STRING,
            "HmacSHA256",
            validator=Described(_check_algorithm, "HmacSHA256, …"),
            importance=low,
            doc="Of requests between workers.",
        )
    definitions.define(
        "inter.worker.verification.algorithms",
        ConfigType.LIST,
        ["HmacSHA256"],
        validator=Described(_check_algorithms, "a list of algorithms"),
        importance=low,
        doc="Algorithms of signatures that are accepted.",
    )


class DistributedConfig:
    """The configs of a worker, checked.

    Example:
        >>> config = DistributedConfig.of({
        ...     "group.id": "c", "key.converter": "K", "value.converter": "V", "config.storage.topic": "c1",
        ...     "offset.storage.topic": "c2", "status.storage.topic": "c3", "config.storage.retention.ms": "-1"})
        >>> config.group.session_timeout_ms, config.topic_settings("config")
        (10000, {'retention.ms': '-1'})
    """

    def __init__(self, originals: Mapping[str, str], values: Mapping[str, Any]) -> None:
        self.originals = dict(originals)
        self.values = values

    @classmethod
    def of(cls, properties: Mapping[str, str]) -> DistributedConfig:
        """Raises ConfigException."""
        values = distributed_config_def().parse(properties)
        config = cls(properties, values)
        for kind in ("config", "offset", "status"):
            if not config.topic(kind).strip():
                raise ConfigException(f"{kind}.storage.topic is empty: name the topic")
        signature, verification = (
            values["inter.worker.signature.algorithm"],
            values["inter.worker.verification.algorithms"],
        )
        if signature not in verification:
            raise ConfigException.invalid(
                "inter.worker.verification.algorithms",
                verification,
                f"Signature algorithm must be present in inter.worker.verification.algorithms list: {signature}",
            )
        return config

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def topic(self, kind: str) -> str:
        """Return the name of a topic; `kind`: `config`, `offset` or `status`."""
        return str(self.values[f"{kind}.storage.topic"])

    def topic_settings(self, kind: str) -> dict[str, str]:
        """Return the topic configs that are set with the prefix `KIND.storage.`."""
        prefix = f"{kind}.storage."
        given = {name.removeprefix(prefix): value for name, value in self.originals.items() if name.startswith(prefix)}
        return {name: value for name, value in given.items() if name not in _OWN}

    @property
    def exactly_once_source(self) -> bool:
        return bool(self.values["exactly.once.source.support"].upper() == "ENABLED")

    @property
    def transactional_leader(self) -> bool:
        """Return whether a new leader fences the previous one."""
        return bool(self.values["exactly.once.source.support"].upper() != "DISABLED")

    @property
    def group_id(self) -> str:
        return str(self.values["group.id"])

    @property
    def offsets_topic(self) -> str:
        return self.topic("offset")

    @property
    def leader_transactional_id(self) -> str:
        return f"connect-cluster-{self.values['group.id']}"

    @property
    def client_id_base(self) -> str:
        client_id = self.values["client.id"].strip()
        return f"{self.values['group.id']}-{client_id}-" if client_id else f"{self.values['group.id']}-"

    @property
    def group(self) -> GroupRebalanceConfig:
        return GroupRebalanceConfig(
            self.values["group.id"],
            None,
            self.values["session.timeout.ms"],
            self.values["heartbeat.interval.ms"],
            self.values["rebalance.timeout.ms"],
        )

    @property
    def protocol(self) -> ConnectProtocol:
        return ConnectProtocol.of_setting(self.values["connect.protocol"])

    @property
    def herder(self) -> HerderSettings:
        values = self.values
        return HerderSettings(
            values["group.id"],
            values["worker.sync.timeout.ms"],
            values["worker.unsync.backoff.ms"],
            values["scheduled.rebalance.max.delay.ms"],
            values["task.shutdown.graceful.timeout.ms"],
            values["inter.worker.key.ttl.ms"],
            values["inter.worker.key.generation.algorithm"],
            values["inter.worker.key.size"],
            values["inter.worker.signature.algorithm"],
            tuple(values["inter.worker.verification.algorithms"]),
            self.exactly_once_source,
            values["topic.tracking.enable"],
            values["topic.tracking.allow.reset"],
            values["topic.creation.enable"],
        )


def _positive_or_default(text: str) -> Any:
    def check(name: str, value: int) -> None:
        if value != -1 and value < 1:
            raise ConfigException.invalid(name, value, f"{text}, or -1 to use the broker's default")

    return check


def _check_protocol(name: str, value: str) -> None:
    try:
        ConnectProtocol.of_setting(value)
    except ValueError:
        raise ConfigException.invalid(name, value, "Invalid Connect protocol") from None


def _check_algorithm(name: str, value: str) -> None:
    if not is_known(value):
        raise ConfigException.invalid(name, value, "the algorithms known here are HmacMD5, HmacSHA1, HmacSHA256 …")


def _check_algorithms(name: str, value: list[str]) -> None:
    if not value:
        raise ConfigException.invalid(name, value, "At least one signature verification algorithm must be provided")
    for each in value:
        _check_algorithm(name, each)
