"""Configs of a connector that nothing reads."""

from __future__ import annotations

import logging
from collections.abc import Container, Iterable, Mapping
from typing import Final

log = logging.getLogger("kafkapy.connect.connectors")

_WORKER: Final = frozenset(
    {
        "name",
        "connector.class",
        "config.action.reload",
        "topics",
        "topics.regex",
        "predicates",
        "transforms",
        "exactly.once.support",
        "offsets.storage.topic",
        "tasks.max",
        "tasks.max.enforce",
        "task.class",
    }
)
_PREFIXES: Final = (
    "key.converter",
    "value.converter",
    "header.converter",
    "transforms.",
    "predicates.",
    "errors.",
    "consumer.override.",
    "producer.override.",
    "admin.override.",
    "transaction.boundary",
    "topic.creation.",
)


def warn_of_unused(config: Mapping[str, str], known: Container[str], prefixes: Iterable[str] = ()) -> list[str]:
    """Log a warning for each config that has no effect, so that an unsupported or misspelt one is noticed.

    Args:
        config: The connector's.
        known: Names that the connector reads.
        prefixes: Of more names that it reads. Default: none.

    Returns:
        The names that were logged.

    Example:
        >>> warn_of_unused({"name": "a", "flush.sise": "5"}, {"flush.size"})
        ['flush.sise']
    """
    begins = (*_PREFIXES, *prefixes)
    unused = [each for each in config if each not in known and each not in _WORKER and not each.startswith(begins)]
    for each in unused:
        log.warning("The config %s of connector %s has no effect: it is not supported", each, config.get("name", ""))
    return unused
