"""Administration of a cluster: `KafkaAdminClient` with kafka-python's interface, and the values it takes and gives.

Everything is imported when it is first asked for: the tools, which use `kafkapy.admin.client`, don't pay for it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkapy.admin.acl_types import (
        ACL,
        ACLFilter,
        ACLOperation,
        ACLPermissionType,
        ACLResourcePatternType,
        ResourcePattern,
        ResourcePatternFilter,
        ResourceType,
    )
    from kafkapy.admin.kafka_admin_client import KafkaAdminClient
    from kafkapy.admin.topics import NewPartitions, NewTopic
    from kafkapy.admin.types import (
        AbortTransactionSpec,
        ConfigFilterType,
        ConfigResource,
        GroupState,
        GroupType,
        MemberToRemove,
        PartitionProducerState,
        ProducerState,
        ScramMechanism,
        TransactionDescription,
        TransactionListing,
        TransactionState,
        UpdateFeatureType,
        UserScramCredentialDeletion,
        UserScramCredentialUpsertion,
    )
    from kafkapy.common.wire_enums import AlterConfigOp, ConfigResourceType, ConfigSourceType, ConfigType, ElectionType
    from kafkapy.structs import OffsetSpec, OffsetTimestamp

_NAMES = {
    "kafkapy.admin.kafka_admin_client": ["KafkaAdminClient"],
    "kafkapy.admin.topics": ["NewPartitions", "NewTopic"],
    "kafkapy.common.wire_enums": [
        "AlterConfigOp",
        "ConfigResourceType",
        "ConfigSourceType",
        "ConfigType",
        "ElectionType",
    ],
    "kafkapy.structs": ["OffsetSpec", "OffsetTimestamp"],
    "kafkapy.admin.acl_types": [
        "ACL",
        "ACLFilter",
        "ACLOperation",
        "ACLPermissionType",
        "ACLResourcePatternType",
        "ResourcePattern",
        "ResourcePatternFilter",
        "ResourceType",
    ],
    "kafkapy.admin.types": [
        "AbortTransactionSpec",
        "ConfigFilterType",
        "ConfigResource",
        "GroupState",
        "GroupType",
        "MemberToRemove",
        "PartitionProducerState",
        "ProducerState",
        "ScramMechanism",
        "TransactionDescription",
        "TransactionListing",
        "TransactionState",
        "UpdateFeatureType",
        "UserScramCredentialDeletion",
        "UserScramCredentialUpsertion",
    ],
}
_HOMES = {name: home for home, names in _NAMES.items() for name in names}

__all__ = [
    "ACL",
    "ACLFilter",
    "ACLOperation",
    "ACLPermissionType",
    "ACLResourcePatternType",
    "AbortTransactionSpec",
    "AlterConfigOp",
    "ConfigFilterType",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSourceType",
    "ConfigType",
    "ElectionType",
    "GroupState",
    "GroupType",
    "KafkaAdminClient",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "OffsetTimestamp",
    "PartitionProducerState",
    "ProducerState",
    "ResourcePattern",
    "ResourcePatternFilter",
    "ResourceType",
    "ScramMechanism",
    "TransactionDescription",
    "TransactionListing",
    "TransactionState",
    "UpdateFeatureType",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
]


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'kafkapy.admin' has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value
