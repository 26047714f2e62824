"""Shared by the parts of kafka-topics: the options that select topics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkapy.common.topic_names import INTERNAL_TOPICS
from kafkapy.tools.common.admin_access import IncludeList
from kafkapy.tools.common.command_line import Options, ToolError

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient

REPORTS = (
    "under-replicated-partitions",
    "unavailable-partitions",
    "under-min-isr-partitions",
    "at-min-isr-partitions",
)


def matching_topics(admin: AdminClient, options: Options) -> list[str]:
    exclude_internal = options.has("exclude-internal")
    names = admin.list_topics(list_internal=not exclude_internal)
    pattern = options.value("topic")
    if pattern is None:
        return [name for name in names if not (exclude_internal and name in INTERNAL_TOPICS)]
    include = IncludeList(pattern)
    return [name for name in names if include.allows(name, exclude_internal)]


def ensure_exists(options: Options, found: Sequence[str]) -> None:
    topic = options.value("topic")
    if topic and not found and not options.has("if-exists"):
        raise ToolError(f"Topic '{topic}' does not exist as expected")
