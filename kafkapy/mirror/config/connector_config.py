"""The configs that all of MirrorMaker's connectors share (Kafka's `MirrorConnectorConfig`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import NO_DEFAULT, ConfigDef
from kafkapy.connect.config.connector_configs import connector_config_def
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.plugins import class_name_of
from kafkapy.mirror.config.security_configs import CLIENT_CONFIG_NAMES, define_security_protocol, define_ssl_and_sasl
from kafkapy.mirror.filters import MirrorFilter, TopicFilter
from kafkapy.mirror.forwarding_admin import ForwardingAdmin
from kafkapy.mirror.mirror_classes import MirrorClasses, find_class
from kafkapy.mirror.replication_policy import ReplicationPolicy


class InstantiationError(ConnectException):
    """The constructor of a configured class has raised an exception."""

    java_class = "org.apache.kafka.common.KafkaException"


SOURCE, TARGET = "source", "target"
SOURCE_CLUSTER_PREFIX, TARGET_CLUSTER_PREFIX = "source.cluster.", "target.cluster."
SOURCE_PREFIX, TARGET_PREFIX = "source.", "target."
PRODUCER_PREFIX, CONSUMER_PREFIX, ADMIN_PREFIX = "producer.", "consumer.", "admin."
ENABLED: Final = "enabled"
EMIT_OFFSET_SYNCS_ENABLED: Final = "emit.offset-syncs.enabled"
OFFSET_SYNCS_TOPIC_LOCATION: Final = "offset-syncs.topic.location"
OFFSET_SYNCS_TOPIC_CONFIG_PREFIX: Final = "offset-syncs.topic."
OFFSET_SYNCS_CLIENT_ROLE_PREFIX: Final = "offset-syncs-"
TASK_INDEX: Final = "task.index"
_POLICY = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"
_ADMIN = "org.apache.kafka.clients.admin.ForwardingAdmin"

Configs = dict[str, Any]
_Configurable = TypeVar("_Configurable", bound=ReplicationPolicy | MirrorFilter)


def define_replication_policy(definitions: ConfigDef) -> None:
    """Add the configs of the replication policy and the admin client."""
    low = Importance.LOW
    definitions.define(
        "replication.policy.class", ConfigType.CLASS, _POLICY, importance=low, doc="Class that names remote topics."
    )
    definitions.define(
        "replication.policy.separator",
        ConfigType.STRING,
        ".",
        importance=low,
        doc="Stands between a cluster's alias and the topic's name.",
    )
    definitions.define(
        "replication.policy.internal.topic.separator.enabled",
        ConfigType.BOOLEAN,
        True,
        importance=low,
        doc="Whether the names of checkpoints and offset syncs topics have that separator, too, instead of a dot. Set it to "
        "false to keep the topics of a MirrorMaker that did not have it.",
    )
    definitions.define(
        "forwarding.admin.class",
        ConfigType.CLASS,
        _ADMIN,
        importance=low,
        doc="Class that makes and changes topics, configs and ACLs; it is made with the configs of an admin client.",
    )


@cache
def base_config_def() -> ConfigDef:
    """Return the configs common to the three connectors. The result is shared: copy it to a new `ConfigDef` before
    adding to it."""
    low, high = Importance.LOW, Importance.HIGH
    definitions = ConfigDef(connector_config_def(MirrorClasses()), find_class)
    definitions.define(
        ENABLED, ConfigType.BOOLEAN, True, importance=low, doc="Whether the source cluster is copied to the target."
    )
    definitions.define(
        "source.cluster.alias", ConfigType.STRING, NO_DEFAULT, importance=high, doc="Alias of the source cluster."
    )
    definitions.define(
        "target.cluster.alias",
        ConfigType.STRING,
        TARGET,
        importance=high,
        doc="Alias of the target cluster, for metrics and to avoid loops.",
    )
    definitions.define(
        "admin.timeout.ms",
        ConfigType.LONG,
        60_000,
        importance=low,
        doc="How long an administrative step of the start may take, such as finding topics, in ms.",
    )
    define_replication_policy(definitions)
    definitions.define(
        "metric.reporters", ConfigType.LIST, None, importance=low, doc="Classes of metric reporters; no effect here."
    )
    define_security_protocol(definitions)
    definitions.define(
        "auto.include.jmx.reporter", ConfigType.BOOLEAN, True, importance=low, doc="No effect: Python has no JMX."
    )
    define_ssl_and_sasl(definitions)
    return definitions


def translate_deprecated(configs: Mapping[str, str], names: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Return the configs with old names replaced (`ConfigUtils.translateDeprecatedConfigs`).

    Args:
        configs: By names.
        names: Pairs of name and old name. The new name has precedence.

    Example:
        >>> translate_deprecated({"groups.blacklist": "a"}, [("groups.exclude", "groups.blacklist")])
        {'groups.exclude': 'a'}
    """
    found = dict(configs)
    for name, old_name in names:
        if old_name in found:
            value = found.pop(old_name)
            found.setdefault(name, value)
    return found


def entries_with_prefix(configs: Mapping[str, Any], prefix: str) -> Configs:
    """Return the entries whose names are longer than the prefix and begin with it, without the prefix.

    Example:
        >>> entries_with_prefix({"admin.retries": "3", "admin.": "x", "retries": "1"}, "admin.")
        {'retries': '3'}
    """
    size = len(prefix)
    return {name[size:]: value for name, value in configs.items() if name.startswith(prefix) and len(name) > size}


def client_configs(originals: Mapping[str, Any], side: str, kind: str) -> Configs:
    """Return the configs of a client; more specific ones have precedence.

    Args:
        originals: The connector's configs.
        side: `source` or `target`.
        kind: `producer.`, `consumer.` or `admin.`.
    """
    cluster = entries_with_prefix(originals, f"{side}.cluster.")
    found = {name: value for name, value in cluster.items() if name in CLIENT_CONFIG_NAMES}
    return found | entries_with_prefix(originals, kind) | entries_with_prefix(originals, f"{side}.{kind}")


def consumer_configs(originals: Mapping[str, Any], side: str) -> Configs:
    """Return the configs of a consumer that does not commit, and starts at the beginning of partitions.

    Args:
        originals: The connector's configs.
        side: `source` or `target`.
    """
    found = client_configs(originals, side, CONSUMER_PREFIX)
    return {"auto.offset.reset": "earliest", **found, "enable.auto.commit": "false"}


class MirrorConnectorConfig:
    """The checked configs of a connector or task. Secrets are in `originals`: it is never logged.

    Args:
        definitions: Definitions of all configs.
        configs: The connector's, or the task's.

    Raises:
        ConfigException: A value is wrong, or missing.
    """

    def __init__(self, definitions: ConfigDef, configs: Mapping[str, str]) -> None:
        self.originals: dict[str, str] = dict(configs)
        self.values = definitions.parse(self.originals)
        self.replication_policy: ReplicationPolicy = self._configured("replication.policy.class", ReplicationPolicy)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    @property
    def connector_name(self) -> str:
        return str(self.values["name"])

    @property
    def enabled(self) -> bool:
        return bool(self.values[ENABLED])

    @property
    def admin_timeout_s(self) -> float:
        return float(self.values["admin.timeout.ms"]) / 1000

    @property
    def source_cluster_alias(self) -> str:
        return str(self.values["source.cluster.alias"])

    @property
    def target_cluster_alias(self) -> str:
        return str(self.values["target.cluster.alias"])

    def entity_label(self) -> str:
        """Return the name of the connector in logs and of its clients."""
        return f"{self.source_cluster_alias}->{self.target_cluster_alias}|{self.connector_name}"

    def producer_config(self, side: str, role: str) -> Configs:
        """Return the configs of a producer on the `side` (`source` or `target`) for a role."""
        return self._with_client_id(client_configs(self.originals, side, PRODUCER_PREFIX), role)

    def consumer_config(self, side: str, role: str) -> Configs:
        """Return the configs of a consumer on the `side` (`source` or `target`) for a role."""
        return self._with_client_id(consumer_configs(self.originals, side), role)

    def admin_config(self, side: str, role: str) -> Configs:
        """Return the configs of an admin client on the `side` (`source` or `target`) for a role."""
        return self._with_client_id(client_configs(self.originals, side, ADMIN_PREFIX), role)

    def forwarding_admin(self, configs: Mapping[str, Any]) -> ForwardingAdmin:
        """Create an admin client of `forwarding.admin.class`. Raises InstantiationError."""
        chosen = self.values["forwarding.admin.class"]
        try:
            made = chosen(configs)
        except Exception as error:
            raise InstantiationError(f"The constructor of {class_name_of(chosen)} threw an exception") from error
        if not isinstance(made, ForwardingAdmin):
            raise ConfigException.invalid("forwarding.admin.class", type(made).__name__, "It must be a ForwardingAdmin")
        return made

    def topic_filter(self) -> TopicFilter:
        """Create the topic filter."""
        return self._configured("topic.filter.class", TopicFilter)

    @property
    def is_offset_syncs_topic_at_source(self) -> bool:
        return bool(self.values[OFFSET_SYNCS_TOPIC_LOCATION] == SOURCE)

    def offset_syncs_topic(self) -> str:
        """Return the name of the offset syncs topic, which contains the alias of the other cluster."""
        at_source = self.is_offset_syncs_topic_at_source
        return self.replication_policy.offset_syncs_topic(
            self.target_cluster_alias if at_source else self.source_cluster_alias
        )

    def offset_syncs_topic_admin_config(self) -> Configs:
        side = SOURCE if self.is_offset_syncs_topic_at_source else TARGET
        return self.admin_config(side, f"{OFFSET_SYNCS_CLIENT_ROLE_PREFIX}{side}-admin")

    def checkpoints_topic(self) -> str:
        """Return the name of the checkpoints topic on the target cluster."""
        return self.replication_policy.checkpoints_topic(self.source_cluster_alias)

    def interval_s(self, feature: str) -> float | None:
        """Return the interval of a feature in s; None: `FEATURE.enabled` is false."""
        return float(self.values[f"{feature}.interval.seconds"]) if self.values[f"{feature}.enabled"] else None

    def _configured(self, name: str, base: type[_Configurable]) -> _Configurable:
        found = self.values[name]
        made = found() if isinstance(found, type) else found
        if not isinstance(made, base):
            raise ConfigException.invalid(name, getattr(found, "__name__", found), f"It must be a {base.__name__}")
        made.configure(self.originals)
        return made

    def _with_client_id(self, configs: Configs, role: str) -> Configs:
        given = configs.get("client.id")
        own = f"{self.entity_label()}|{role}"
        return {**configs, "client.id": own if given is None else f"{given}|{own}"}
