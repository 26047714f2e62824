"""MirrorMaker 2: copies topics, their configs and ACLs, and the offsets of groups from one cluster to another (KIP-382)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.mirror import remote_cluster_utils as remote_cluster_utils
    from kafkapy.mirror.filters import ConfigPropertyFilter as ConfigPropertyFilter
    from kafkapy.mirror.filters import DefaultConfigPropertyFilter as DefaultConfigPropertyFilter
    from kafkapy.mirror.filters import DefaultGroupFilter as DefaultGroupFilter
    from kafkapy.mirror.filters import DefaultTopicFilter as DefaultTopicFilter
    from kafkapy.mirror.filters import GroupFilter as GroupFilter
    from kafkapy.mirror.filters import TopicFilter as TopicFilter
    from kafkapy.mirror.forwarding_admin import ForwardingAdmin as ForwardingAdmin
    from kafkapy.mirror.mirror_client import MirrorClient as MirrorClient
    from kafkapy.mirror.mirror_maker import MirrorMaker as MirrorMaker
    from kafkapy.mirror.mirror_records import Checkpoint as Checkpoint
    from kafkapy.mirror.mirror_records import Heartbeat as Heartbeat
    from kafkapy.mirror.mirror_records import OffsetSync as OffsetSync
    from kafkapy.mirror.replication_policy import DefaultReplicationPolicy as DefaultReplicationPolicy
    from kafkapy.mirror.replication_policy import IdentityReplicationPolicy as IdentityReplicationPolicy
    from kafkapy.mirror.replication_policy import ReplicationPolicy as ReplicationPolicy
    from kafkapy.mirror.replication_policy import SourceAndTarget as SourceAndTarget
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "filters": (
                "ConfigPropertyFilter DefaultConfigPropertyFilter DefaultGroupFilter DefaultTopicFilter GroupFilter "
                "TopicFilter"
            ),
            "forwarding_admin": "ForwardingAdmin",
            "mirror_client": "MirrorClient",
            "mirror_maker": "MirrorMaker",
            "mirror_records": "Checkpoint Heartbeat OffsetSync",
            "replication_policy": (
                "DefaultReplicationPolicy IdentityReplicationPolicy ReplicationPolicy SourceAndTarget"
            ),
        },
    )
