"""An application's internal topics (Kafka's `InternalTopicConfig` and its subclasses)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from kafkapy.streams.topology.store_factory import ChangelogKind, StoreFactory

_DAY_MS: Final = 24 * 60 * 60 * 1000
_MAX_INT64: Final = 2**63 - 1
_CREATE_TIME: Final = {"message.timestamp.type": "CreateTime"}


class InternalTopic(NamedTuple):
    """An internal topic.

    Attributes:
        kind: "repartition" or "changelog".
        partitions: Number enforced by the topology; None: that of the copartitioned topics.
        config: Topic configs by Kafka's names.

    Example:
        >>> InternalTopic("changelog", None, {"cleanup.policy": "compact"}).kind
        'changelog'
    """

    kind: str
    partitions: int | None
    config: Mapping[str, str]


def repartition_topic(partitions: int | None) -> InternalTopic:
    """Return a repartition topic, whose records are kept until the application deletes the processed ones.

    Raises:
        ValueError: The number of partitions is less than 1.
    """
    if partitions is not None and partitions < 1:
        raise ValueError("Number of partitions must be at least 1.")
    config = {
        **_CREATE_TIME,
        "cleanup.policy": "delete",
        "retention.ms": "-1",
        "segment.bytes": "52428800",
    }
    return InternalTopic("repartition", partitions, config)


def changelog_topic(store: StoreFactory, additional_retention_ms: int) -> InternalTopic:
    """Return the changelog topic of a store, with configs by its kind; the store's own configs take precedence.

    Args:
        store: The store's factory.
        additional_retention_ms: `windowstore.changelog.additional.retention.ms`.
    """
    windowed = store.changelog_kind is ChangelogKind.WINDOWED
    config = {**_CREATE_TIME, "cleanup.policy": "compact,delete" if windowed else "compact", **store.log_config}
    if windowed and "retention.ms" not in store.log_config:
        config["retention.ms"] = str(min(store.retention_ms + additional_retention_ms, _MAX_INT64))
    if store.changelog_kind is ChangelogKind.VERSIONED and "min.compaction.lag.ms" not in store.log_config:
        config["min.compaction.lag.ms"] = str(min(store.retention_ms + _DAY_MS, _MAX_INT64))
    return InternalTopic("changelog", None, config)
