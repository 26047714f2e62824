"""The configs of the dedicated mode, and those derived for workers and connectors (Kafka's `MirrorMakerConfig`)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Final

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import NO_DEFAULT, ConfigDef
from kafkapy.connect.herder.config_providers import make_providers
from kafkapy.connect.herder.config_transformer import ProviderTransformer
from kafkapy.connect.herder.distributed_config import distributed_config_def
from kafkapy.mirror.config.checkpoint_config import checkpoint_config_def
from kafkapy.mirror.config.client_config import MirrorClientConfig
from kafkapy.mirror.config.connector_config import (
    ENABLED,
    SOURCE_CLUSTER_PREFIX,
    SOURCE_PREFIX,
    TARGET_CLUSTER_PREFIX,
    TARGET_PREFIX,
    entries_with_prefix,
)
from kafkapy.mirror.config.heartbeat_config import EMIT_HEARTBEATS_ENABLED, heartbeat_config_def
from kafkapy.mirror.config.security_configs import CLIENT_CONFIG_NAMES, define_security_protocol, define_ssl_and_sasl
from kafkapy.mirror.config.source_config import source_config_def
from kafkapy.mirror.mirror_classes import KAFKA
from kafkapy.mirror.replication_policy import SourceAndTarget

CONNECTORS: Final = ("MirrorSourceConnector", "MirrorHeartbeatConnector", "MirrorCheckpointConnector")
"""Simple names of Kafka's classes; in the dedicated mode they are the connectors' names, too."""
_BYTES: Final = "org.apache.kafka.connect.converters.ByteArrayConverter"
_WORKER_PREFIXES: Final = (
    *("offset.storage", "config.storage", "status.storage", "key.converter", "value.converter", "header.converter"),
    *("task", "worker", "replication.policy"),
)
_REST_PREFIXES: Final = ("listeners", "rest.", "admin.", "access.control.", "response.http.", "config.providers")
_OF_A_KIND_OF_CLIENT = re.compile("consumer|producer|admin")


@cache
def maker_config_def() -> ConfigDef:
    """The configs of the dedicated mode itself; those of clusters and flows have prefixes."""
    high, low = Importance.HIGH, Importance.LOW
    definitions = ConfigDef()
    definitions.define("clusters", ConfigType.LIST, NO_DEFAULT, importance=high, doc="Aliases of clusters.")
    definitions.define(
        "dedicated.mode.enable.internal.rest",
        ConfigType.BOOLEAN,
        False,
        importance=high,
        doc="Whether a REST server for other nodes runs. More than one node for a target cluster need it.",
    )
    definitions.define("config.providers", ConfigType.LIST, [], importance=low, doc="Names of config providers.")
    define_security_protocol(definitions)
    define_ssl_and_sasl(definitions)
    return definitions


def _connector_names() -> set[str]:
    return {*source_config_def().names(), *checkpoint_config_def().names(), *heartbeat_config_def().names()}


class MirrorMakerConfig:
    """The checked configs of the dedicated mode. Secrets are in `originals`: it is never logged.

    Args:
        configs: `clusters`, `ALIAS.…` for a cluster, `A->B.…` for a flow, and names without prefix for all of them.

    Raises:
        ConfigException: A value is wrong, or missing.

    Example:
        >>> config = MirrorMakerConfig({"clusters": "A, B", "A->B.enabled": "true", "emit.heartbeats.enabled": "false"})
        >>> [str(pair) for pair in config.cluster_pairs()]
        ['A->B']
    """

    def __init__(self, configs: Mapping[str, str]) -> None:
        self.originals = dict(configs)
        self.values = maker_config_def().parse(self.originals)
        if not self.clusters():
            raise ConfigException.invalid("clusters", self.originals["clusters"], "Name at least one cluster")

    def clusters(self) -> list[str]:
        """Return the aliases of all clusters."""
        return list(dict.fromkeys(self.values["clusters"]))

    @property
    def is_internal_rest_enabled(self) -> bool:
        return bool(self.values["dedicated.mode.enable.internal.rest"])

    def cluster_pairs(self) -> list[SourceAndTarget]:
        """Return the flows that need a worker.

        A disabled flow still needs a worker for heartbeats, unless `emit.heartbeats.enabled` is false for it: the
        opposite flow copies them.
        """
        all_heartbeats = self._is_true(EMIT_HEARTBEATS_ENABLED, True)
        pairs = [SourceAndTarget(a, b) for a in self.clusters() for b in self.clusters() if a != b]
        return [
            pair
            for pair in pairs
            if self._is_true(f"{pair}.{ENABLED}", False)
            or self._is_true(f"{pair}.{EMIT_HEARTBEATS_ENABLED}", all_heartbeats)
        ]

    def without_effect(self) -> list[str]:
        """Return the configs of workers that lack the prefix of a cluster: a worker has only those of its cluster.

        Example:
            >>> MirrorMakerConfig({"clusters": "A, B", "group.id": "g", "B.group.id": "g"}).without_effect()
            ['group.id']
        """
        used = CLIENT_CONFIG_NAMES | maker_config_def().names() | _connector_names()
        return sorted(
            name
            for name in self.originals.keys() & distributed_config_def().names() - used
            if not name.startswith((*_WORKER_PREFIXES, *_REST_PREFIXES))
        )

    def client_config(self, cluster: str) -> MirrorClientConfig:
        """Return the configs of a client of a cluster. Raises ConfigException."""
        return MirrorClientConfig(self._transformed(self.originals | self.cluster_configs(cluster)))

    def cluster_configs(self, cluster: str) -> dict[str, str]:
        """Return the configs of a cluster; those of connections are repeated for each kind of client."""
        found: dict[str, str] = entries_with_prefix(self.originals, f"{cluster}.")
        for configs, is_for_all in ((dict(found), False), (self.originals, True)):
            for name in CLIENT_CONFIG_NAMES & configs.keys():
                for kind in ("producer.", "consumer.", "admin."):
                    found.setdefault(kind + name, configs[name])
                if is_for_all:
                    found.setdefault(name, configs[name])
        return found

    def worker_config(self, pair: SourceAndTarget) -> dict[str, str]:
        """Return the configs of a flow's worker, which belongs to the target cluster. Raises ConfigException."""
        found = self.cluster_configs(pair.target)
        for prefix in _WORKER_PREFIXES:
            found |= self._with_prefix(prefix)
        found = self._transformed(found) | self._with_prefix("config.providers")
        defaults = {
            "client.id": str(pair),
            "group.id": f"{pair.source}-mm2",
            "offset.storage.topic": f"mm2-offsets.{pair.source}.internal",
            "status.storage.topic": f"mm2-status.{pair.source}.internal",
            "config.storage.topic": f"mm2-configs.{pair.source}.internal",
            "key.converter": _BYTES,
            "value.converter": _BYTES,
            "header.converter": _BYTES,
        }
        return defaults | found

    def connector_config(self, pair: SourceAndTarget, connector: str) -> dict[str, str]:
        """Return the configs of a flow's connector, with unresolved variables of config providers.

        Args:
            pair: The flow.
            connector: One of `CONNECTORS`.
        """
        names = _connector_names()
        found = {name: value for name, value in self.originals.items() if name in names}
        found |= self._with_prefix("config.providers") | self._with_prefix("replication.policy")
        for cluster, cluster_prefix, client_prefix in (
            (pair.source, SOURCE_CLUSTER_PREFIX, SOURCE_PREFIX),
            (pair.target, TARGET_CLUSTER_PREFIX, TARGET_PREFIX),
        ):
            for name, value in self.cluster_configs(cluster).items():
                found[(client_prefix if _OF_A_KIND_OF_CLIENT.match(name) else cluster_prefix) + name] = value
        defaults = {
            "name": connector,
            "connector.class": KAFKA + connector,
            "source.cluster.alias": pair.source,
            "target.cluster.alias": pair.target,
        }
        return {ENABLED: "false", **defaults, **found, **entries_with_prefix(self.originals, f"{pair}.")}

    def _transformed(self, configs: dict[str, str]) -> dict[str, str]:
        transformer = ProviderTransformer(make_providers(self.originals))
        try:
            return {name: value for name, value in transformer(None, configs).items() if value is not None}
        finally:
            transformer.close()

    def _with_prefix(self, prefix: str) -> dict[str, str]:
        return {name: value for name, value in self.originals.items() if name.startswith(prefix)}

    def _is_true(self, name: str, default: bool) -> bool:
        return self.originals[name].lower() == "true" if name in self.originals else default
