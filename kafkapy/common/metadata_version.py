"""Versions for `inter.broker.protocol.version` and `message.format.version` (Kafka's `MetadataVersion`)."""

from __future__ import annotations

from typing import Final

VERSIONS: Final = (
    *("0.8.0", "0.8.1", "0.8.2", "0.9.0", "0.10.0-IV0", "0.10.0-IV1", "0.10.1-IV0", "0.10.1-IV1", "0.10.1-IV2"),
    *("0.10.2-IV0", "0.11.0-IV0", "0.11.0-IV1", "0.11.0-IV2", "1.0-IV0", "1.1-IV0", "2.0-IV0", "2.0-IV1", "2.1-IV0"),
    *("2.1-IV1", "2.1-IV2", "2.2-IV0", "2.2-IV1", "2.3-IV0", "2.3-IV1", "2.4-IV0", "2.4-IV1", "2.5-IV0", "2.6-IV0"),
    *("2.7-IV0", "2.7-IV1", "2.7-IV2", "2.8-IV0", "2.8-IV1", "3.0-IV0", "3.0-IV1", "3.1-IV0", "3.2-IV0", "3.3-IV0"),
    *("3.3-IV1", "3.3-IV2", "3.3-IV3", "3.4-IV0", "3.5-IV0", "3.5-IV1", "3.5-IV2", "3.6-IV0", "3.6-IV1", "3.6-IV2"),
    *("3.7-IV0", "3.7-IV1", "3.7-IV2", "3.7-IV3", "3.7-IV4", "3.8-IV0", "3.9-IV0", "4.0-IV0", "4.0-IV1"),
)
"""Oldest first."""

_LATEST_OF_RELEASE: Final = {version.partition("-")[0]: version for version in VERSIONS}


def from_version_string(text: str) -> str:
    """Return the full version that `text` names: 3.9, 3.9.1 and 3.9-IV0 are all `3.9-IV0`.

    Raises:
        ValueError: it names no version.
    """
    segments = text.split(".")
    significant = 3 if text.startswith("0.") else 2
    key = text if len(segments) <= significant else ".".join(segments[:significant])
    version = key if key in VERSIONS else _LATEST_OF_RELEASE.get(key)
    if version is None:
        raise ValueError(f"Version {text} is not a valid version")
    return version


def is_at_least(version: str, other: str) -> bool:
    """Compare two versions. Both are names that `from_version_string` accepts."""
    return VERSIONS.index(from_version_string(version)) >= VERSIONS.index(from_version_string(other))


def record_version(version: str) -> int:
    """Return the newest message format (0, 1, 2) that brokers of `version` know."""
    if is_at_least(version, "0.11.0-IV0"):
        return 2
    return 1 if is_at_least(version, "0.10.0-IV0") else 0


def is_message_format_ignored(version: str) -> bool:
    """Return whether records are always stored in the newest format, whatever `message.format.version` says (KIP-724)."""
    return is_at_least(version, "3.0-IV1")


def is_zstd_supported(version: str) -> bool:
    """Return whether records may be compressed with zstd (KIP-110)."""
    return is_at_least(version, "2.1-IV0")


_FETCH: Final = (
    ("3.9-IV0", 17), ("3.7-IV4", 16), ("3.5-IV1", 15), ("3.5-IV0", 14), ("3.1-IV0", 13), ("2.7-IV1", 12), ("2.3-IV1", 11),
    ("2.1-IV2", 10), ("2.0-IV1", 8), ("1.1-IV0", 7), ("0.11.0-IV1", 5), ("0.11.0-IV0", 4), ("0.10.1-IV1", 3),
    ("0.10.0-IV0", 2), ("0.9.0", 1),
)  # fmt: skip
_OFFSET_FOR_LEADER_EPOCH: Final = (("2.8-IV0", 4), ("2.3-IV1", 3), ("2.1-IV1", 2), ("2.0-IV0", 1))
_LIST_OFFSETS: Final = (
    ("3.9-IV0", 9), ("3.5-IV0", 8), ("3.0-IV1", 7), ("2.8-IV0", 6), ("2.2-IV1", 5), ("2.1-IV1", 4), ("2.0-IV1", 3),
    ("0.11.0-IV0", 2), ("0.10.1-IV2", 1),
)  # fmt: skip

_LEADER_AND_ISR: Final = (
    ("3.4-IV0", 7), ("3.2-IV0", 6), ("2.8-IV1", 5), ("2.4-IV1", 4), ("2.4-IV0", 3), ("2.2-IV0", 2), ("1.0-IV0", 1),
)  # fmt: skip
_UPDATE_METADATA: Final = (
    ("3.4-IV0", 8), ("2.8-IV1", 7), ("2.4-IV1", 6), ("2.2-IV0", 5), ("1.0-IV0", 4), ("0.10.2-IV0", 3), ("0.10.0-IV1", 2),
    ("0.9.0", 1),
)  # fmt: skip
_STOP_REPLICA: Final = (("3.4-IV0", 4), ("2.6-IV0", 3), ("2.4-IV1", 2), ("2.2-IV0", 1))
_CONTROLLED_SHUTDOWN: Final = (("2.4-IV1", 3), ("2.2-IV0", 2), ("0.9.0", 1))


def fetch_version(version: str) -> int:
    """Return the version of Fetch that followers of `version` send."""
    return _newest(version, _FETCH)


def offset_for_leader_epoch_version(version: str) -> int:
    """Return the version of OffsetForLeaderEpoch that followers of `version` send."""
    return _newest(version, _OFFSET_FOR_LEADER_EPOCH)


def list_offsets_version(version: str) -> int:
    """Return the version of ListOffsets that followers of `version` send."""
    return _newest(version, _LIST_OFFSETS)


def broker_registration_version(version: str) -> int:
    """Return the version of the JSON in /brokers/ids. Brokers of 0.9.0.0 fail on one above 2 (KAFKA-3100)."""
    if is_at_least(version, "2.7-IV0"):
        return 5
    return 4 if is_at_least(version, "0.10.0-IV1") else 2


def controlled_shutdown_version(version: str) -> int:
    """Return the version of ControlledShutdown that a broker of `version` sends."""
    return _newest(version, _CONTROLLED_SHUTDOWN)


def leader_and_isr_version(version: str) -> int:
    """Return the version of LeaderAndIsr that a controller of `version` sends."""
    return _newest(version, _LEADER_AND_ISR)


def update_metadata_version(version: str) -> int:
    """Return the version of UpdateMetadata that a controller of `version` sends."""
    return _newest(version, _UPDATE_METADATA)


def stop_replica_version(version: str) -> int:
    """Return the version of StopReplica that a controller of `version` sends."""
    return _newest(version, _STOP_REPLICA)


def is_feature_versioning_supported(version: str) -> bool:
    """Return whether features are finalized in /feature (KIP-584)."""
    return is_at_least(version, "2.7-IV0")


def feature_znode_version(version: str) -> int:
    """Return the version of the JSON in /feature."""
    return 2 if is_at_least(version, "3.3-IV0") else 1


def does_leader_and_isr_mark_new_replicas(version: str) -> bool:
    """Return whether LeaderAndIsr says which replicas are new.

    A broker with a failed log dir may create new replicas only if it knows that they are new (KIP-112).
    """
    return is_at_least(version, "1.0-IV0")


def are_prefixed_acls_supported(version: str) -> bool:
    """Return whether ACLs may apply to prefixes of names (KIP-290), which older brokers do not know."""
    return is_at_least(version, "2.0-IV1")


def is_static_membership_supported(version: str) -> bool:
    """Return whether group members may have a `group.instance.id` (KIP-345), which older coordinators would lose."""
    return is_at_least(version, "2.3-IV0")


def is_leader_recovery_supported(version: str) -> bool:
    """Return whether the leader of an unclean election is marked as recovering (KIP-704)."""
    return is_at_least(version, "3.2-IV0")


def is_topic_id_supported(version: str) -> bool:
    """Return whether topics have ids (KIP-516)."""
    return is_at_least(version, "2.8-IV0")


def is_truncation_on_fetch_supported(version: str) -> bool:
    """Return whether fetches contain the last fetched epoch, so that leaders can report divergence (KIP-595)."""
    return is_at_least(version, "2.7-IV1")


def is_allocate_producer_ids_supported(version: str) -> bool:
    """Return whether the controller allocates producer ids (KIP-730). Before, each broker allocated them in ZooKeeper."""
    return is_at_least(version, "3.0-IV0")


def is_alter_partition_supported(version: str) -> bool:
    """Return whether leaders ask the controller to change the ISR (KIP-497). Before, they wrote it to ZooKeeper."""
    return is_at_least(version, "2.7-IV2")


def write_txn_markers_version(version: str) -> int:
    """Return the version of WriteTxnMarkers; 1, with flexible headers, from 2.8 on."""
    return 1 if is_at_least(version, "2.8-IV1") else 0


def offset_commit_value_version(version: str) -> int:
    """Return the version of the offset records that a group coordinator writes: the newest one that is not flexible."""
    return _newest(version, (("2.1-IV1", 3), ("2.1-IV0", 2), ("0.8.0", 1)))


def group_metadata_value_version(version: str) -> int:
    """Return the version of the group records that a group coordinator writes: the newest one that is not flexible."""
    return _newest(version, (("2.3-IV0", 3), ("2.1-IV0", 2), ("0.10.1-IV0", 1)))


def _newest(version: str, steps: tuple[tuple[str, int], ...]) -> int:
    return next((number for since, number in steps if is_at_least(version, since)), 0)
