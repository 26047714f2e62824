"""Commits translated offsets on the target cluster (`sync.group.offsets.enabled`, KIP-545)."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from kafkapy.mirror.checkpoint_store import CheckpointStore
from kafkapy.mirror.forwarding_admin import ForwardingAdmin
from kafkapy.mirror.offset_translator import GroupOffsets, offsets_to_commit
from kafkapy.protocol.errors import Errors, KafkaError

log = logging.getLogger("kafkapy.mirror")

_EMPTY = "Empty"


class GroupOffsetSync:
    """Invariant: `_idle` has the offsets of groups that were without members at the last `refresh_idle_groups`, and is
    empty after `commit`. One thread uses it.

    Args:
        groups: The task's groups.
        checkpoints: Their translated offsets.
        admin: Admin client of the target cluster.
    """

    def __init__(self, groups: Sequence[str], checkpoints: CheckpointStore, admin: ForwardingAdmin) -> None:
        self._groups = groups
        self._checkpoints = checkpoints
        self._admin = admin
        self._idle: dict[str, GroupOffsets] = {}

    def refresh_idle_groups(self) -> None:
        """Read the committed offsets of groups without members on the target cluster. Raises KafkaError."""
        for group, description in self._admin.describe_groups(self._groups).items():
            try:
                if isinstance(description, KafkaError):
                    raise description
                if description.state == _EMPTY:
                    self._idle[group] = self._admin.list_group_offsets(group)
            except KafkaError as error:
                log.error("Group %s cannot be read on the target cluster: %s", group, error)

    def commit(self) -> None:
        """Commit the offsets of groups that are idle or new on the target cluster."""
        wanted = offsets_to_commit(self._checkpoints.translated_offsets(), self._idle)
        self._idle.clear()
        for group, offsets in wanted.items():
            try:
                outcomes = self._admin.alter_group_offsets(group, offsets)
                failures = [outcome for outcome in outcomes.values() if outcome is not None]
                if failures:
                    raise failures[0]
            except KafkaError as error:
                if error.error is Errors.UNKNOWN_MEMBER_ID:
                    log.warning("Offsets of group %s are not committed: it has members on the target cluster", group)
                else:
                    log.error("Offsets of group %s cannot be committed: %s", group, error)
