"""Policies for the names of remote topics (Kafka's `ReplicationPolicy` and its two implementations)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

SEPARATOR_CONFIG = "replication.policy.separator"
SEPARATOR_DEFAULT = "."
INTERNAL_TOPIC_SEPARATOR_ENABLED_CONFIG = "replication.policy.internal.topic.separator.enabled"
SOURCE_CLUSTER_ALIAS_CONFIG = "source.cluster.alias"
_HEARTBEATS = "heartbeats"


class SourceAndTarget(NamedTuple):
    """Two clusters by their aliases; `source` is copied to `target`.

    Attributes:
        source: Alias of the cluster that is read.
        target: Alias of the cluster that is written.

    Example:
        >>> str(SourceAndTarget("A", "B"))
        'A->B'
    """

    source: str
    target: str

    def __str__(self) -> str:
        return f"{self.source}->{self.target}"


class ReplicationPolicy:
    """Names remote topics and MirrorMaker's own topics. Derive from it and override the first three methods.

    The class is created without arguments; `configure` is called once, before all others.
    """

    java_class = "org.apache.kafka.connect.mirror.ReplicationPolicy"

    def configure(self, configs: Mapping[str, Any]) -> None:
        """Configure with the connector's configs. Does nothing by default."""

    def format_remote_topic(self, source_cluster_alias: str, topic: str) -> str:
        """Return the name on the target cluster of a source cluster's topic."""
        raise NotImplementedError

    def topic_source(self, topic: str) -> str | None:
        """Return the alias of the cluster from which a topic was copied; None: it is not a remote topic."""
        raise NotImplementedError

    def upstream_topic(self, topic: str) -> str | None:
        """Return a topic's name on the cluster from which it was copied, where it may also be remote; None: it is not
        remote."""
        raise NotImplementedError

    def original_topic(self, topic: str) -> str:
        """Return a topic's name on the cluster where it was first written."""
        seen = {topic}
        while True:
            upstream = self.upstream_topic(topic)
            if upstream is None or upstream in seen:
                return topic
            seen.add(upstream)
            topic = upstream

    def heartbeats_topic(self) -> str:
        """Return the name of the topic with heartbeats."""
        return _HEARTBEATS

    def offset_syncs_topic(self, cluster_alias: str) -> str:
        """Return the name of the offset syncs topic. `cluster_alias`: alias of the other cluster."""
        return f"mm2-offset-syncs.{cluster_alias}.internal"

    def checkpoints_topic(self, cluster_alias: str) -> str:
        """Return the name of the topic with checkpoints of a source cluster's groups."""
        return f"{cluster_alias}.checkpoints.internal"

    def is_heartbeats_topic(self, topic: str) -> bool:
        """Return whether a topic has heartbeats, those of other clusters included."""
        return self.original_topic(topic) == self.heartbeats_topic()

    def is_checkpoints_topic(self, topic: str) -> bool:
        """Return whether a topic has checkpoints."""
        return topic.endswith(".checkpoints.internal")

    def is_mm2_internal_topic(self, topic: str) -> bool:
        """Return whether a topic is one of MirrorMaker's own, which are not copied."""
        return topic.endswith(".internal")

    def is_internal_topic(self, topic: str) -> bool:
        """Return whether a topic belongs to MirrorMaker, Connect or Kafka itself; such topics are not copied."""
        is_kafkas = topic.startswith(("__", "."))
        return self.is_mm2_internal_topic(topic) or is_kafkas or topic.endswith(("-internal", ".internal"))


class DefaultReplicationPolicy(ReplicationPolicy):
    """Puts the source cluster's alias and a separator before the topic's name.

    Example:
        >>> policy = DefaultReplicationPolicy()
        >>> policy.format_remote_topic("A", "orders"), policy.topic_source("A.orders"), policy.upstream_topic("A.orders")
        ('A.orders', 'A', 'orders')
    """

    java_class = "org.apache.kafka.connect.mirror.DefaultReplicationPolicy"

    def __init__(self) -> None:
        self._separator = SEPARATOR_DEFAULT
        self._is_internal_separator_enabled = True

    def configure(self, configs: Mapping[str, Any]) -> None:
        if SEPARATOR_CONFIG not in configs:
            return
        self._separator = str(configs[SEPARATOR_CONFIG])
        if INTERNAL_TOPIC_SEPARATOR_ENABLED_CONFIG in configs:
            enabled = str(configs[INTERNAL_TOPIC_SEPARATOR_ENABLED_CONFIG])
            self._is_internal_separator_enabled = enabled.lower() == "true"

    def format_remote_topic(self, source_cluster_alias: str, topic: str) -> str:
        return f"{source_cluster_alias}{self._separator}{topic}"

    def topic_source(self, topic: str) -> str | None:
        parts = topic.split(self._separator) if self._separator else list(topic)
        while parts and not parts[-1]:  # Java's split gives no empty parts at the end
            parts.pop()
        return parts[0] if len(parts) > 1 else None

    def upstream_topic(self, topic: str) -> str | None:
        source = DefaultReplicationPolicy.topic_source(self, topic)
        return None if source is None else topic[len(source) + len(self._separator) :]

    def offset_syncs_topic(self, cluster_alias: str) -> str:
        return f"mm2-offset-syncs{self._internal_separator}{cluster_alias}{self._internal_suffix}"

    def checkpoints_topic(self, cluster_alias: str) -> str:
        return cluster_alias + self._checkpoints_suffix

    def is_checkpoints_topic(self, topic: str) -> bool:
        return topic.endswith(self._checkpoints_suffix)

    def is_mm2_internal_topic(self, topic: str) -> bool:
        return topic.endswith(self._internal_suffix)

    @property
    def _internal_separator(self) -> str:
        return self._separator if self._is_internal_separator_enabled else "."

    @property
    def _internal_suffix(self) -> str:
        return f"{self._internal_separator}internal"

    @property
    def _checkpoints_suffix(self) -> str:
        return f"{self._internal_separator}checkpoints{self._internal_suffix}"


class IdentityReplicationPolicy(DefaultReplicationPolicy):
    """Keeps topics' names; heartbeats have the names of the default policy.

    A name does not contain a topic's origin, so loops cannot be detected: copy clusters in one direction only.

    Example:
        >>> policy = IdentityReplicationPolicy()
        >>> policy.configure({"source.cluster.alias": "A"})
        >>> policy.format_remote_topic("A", "orders"), policy.topic_source("orders")
        ('orders', 'A')
    """

    java_class = "org.apache.kafka.connect.mirror.IdentityReplicationPolicy"

    def __init__(self) -> None:
        super().__init__()
        self._source_cluster_alias: str | None = None

    def configure(self, configs: Mapping[str, Any]) -> None:
        super().configure(configs)
        if SOURCE_CLUSTER_ALIAS_CONFIG in configs:
            self._source_cluster_alias = str(configs[SOURCE_CLUSTER_ALIAS_CONFIG])

    def format_remote_topic(self, source_cluster_alias: str, topic: str) -> str:
        if self._looks_like_heartbeats(topic):
            return super().format_remote_topic(source_cluster_alias, topic)
        return topic

    def topic_source(self, topic: str) -> str | None:
        if self._looks_like_heartbeats(topic):
            return super().topic_source(topic)
        return self._source_cluster_alias

    def upstream_topic(self, topic: str) -> str | None:
        if self._looks_like_heartbeats(topic):
            return super().upstream_topic(topic)
        return topic

    def _looks_like_heartbeats(self, topic: str) -> bool:
        return topic.endswith(self.heartbeats_topic())
