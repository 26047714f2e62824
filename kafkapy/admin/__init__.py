"""Administration of a cluster: `KafkaAdminClient` with kafka-python's interface, and its arguments and results.

Names are imported on first use, so that tools, which only use `kafkapy.admin.client`, start quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.admin.acl_types import ACL as ACL
    from kafkapy.admin.acl_types import ACLFilter as ACLFilter
    from kafkapy.admin.acl_types import ACLOperation as ACLOperation
    from kafkapy.admin.acl_types import ACLPermissionType as ACLPermissionType
    from kafkapy.admin.acl_types import ACLResourcePatternType as ACLResourcePatternType
    from kafkapy.admin.acl_types import ResourcePattern as ResourcePattern
    from kafkapy.admin.acl_types import ResourcePatternFilter as ResourcePatternFilter
    from kafkapy.admin.acl_types import ResourceType as ResourceType
    from kafkapy.admin.kafka_admin_client import KafkaAdminClient as KafkaAdminClient
    from kafkapy.admin.topics import NewPartitions as NewPartitions
    from kafkapy.admin.topics import NewTopic as NewTopic
    from kafkapy.admin.types import AbortTransactionSpec as AbortTransactionSpec
    from kafkapy.admin.types import ConfigFilterType as ConfigFilterType
    from kafkapy.admin.types import ConfigResource as ConfigResource
    from kafkapy.admin.types import GroupState as GroupState
    from kafkapy.admin.types import GroupType as GroupType
    from kafkapy.admin.types import MemberToRemove as MemberToRemove
    from kafkapy.admin.types import PartitionProducerState as PartitionProducerState
    from kafkapy.admin.types import ProducerState as ProducerState
    from kafkapy.admin.types import ScramMechanism as ScramMechanism
    from kafkapy.admin.types import TransactionDescription as TransactionDescription
    from kafkapy.admin.types import TransactionListing as TransactionListing
    from kafkapy.admin.types import TransactionState as TransactionState
    from kafkapy.admin.types import UpdateFeatureType as UpdateFeatureType
    from kafkapy.admin.types import UserScramCredentialDeletion as UserScramCredentialDeletion
    from kafkapy.admin.types import UserScramCredentialUpsertion as UserScramCredentialUpsertion
    from kafkapy.common.wire_enums import AlterConfigOp as AlterConfigOp
    from kafkapy.common.wire_enums import ConfigResourceType as ConfigResourceType
    from kafkapy.common.wire_enums import ConfigSourceType as ConfigSourceType
    from kafkapy.common.wire_enums import ConfigType as ConfigType
    from kafkapy.common.wire_enums import ElectionType as ElectionType
    from kafkapy.security.delegation_tokens import DelegationToken as DelegationToken
    from kafkapy.security.delegation_tokens import TokenInformation as TokenInformation
    from kafkapy.security.principal import KafkaPrincipal as KafkaPrincipal
    from kafkapy.structs import OffsetSpec as OffsetSpec
    from kafkapy.structs import OffsetTimestamp as OffsetTimestamp
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "acl_types": (
                "ACL ACLFilter ACLOperation ACLPermissionType ACLResourcePatternType ResourcePattern "
                "ResourcePatternFilter ResourceType"
            ),
            "kafka_admin_client": "KafkaAdminClient",
            "topics": "NewPartitions NewTopic",
            "types": (
                "AbortTransactionSpec ConfigFilterType ConfigResource GroupState GroupType MemberToRemove "
                "PartitionProducerState ProducerState ScramMechanism TransactionDescription TransactionListing "
                "TransactionState UpdateFeatureType UserScramCredentialDeletion UserScramCredentialUpsertion"
            ),
            ".common.wire_enums": "AlterConfigOp ConfigResourceType ConfigSourceType ConfigType ElectionType",
            ".security.delegation_tokens": "DelegationToken TokenInformation",
            ".security.principal": "KafkaPrincipal",
            ".structs": "OffsetSpec OffsetTimestamp",
        },
    )
