"""The operations of an admin client without a loop: coroutines over completions that give typed values.

An operation on many things gives a dict of thing -> value or `KafkaError`; `values_of` and `value_of` of `results` raise
them. Whatever hits the operation as a whole is raised as `KafkaError`.
"""

from __future__ import annotations

from kafkapy.admin.acls import AclOperations
from kafkapy.admin.cluster import ClusterOperations
from kafkapy.admin.configs import ConfigOperations
from kafkapy.admin.group_offsets import GroupOffsetOperations
from kafkapy.admin.groups import GroupOperations
from kafkapy.admin.partitions import PartitionOperations
from kafkapy.admin.quotas import QuotaOperations
from kafkapy.admin.replicas import ReplicaOperations
from kafkapy.admin.tokens import TokenOperations
from kafkapy.admin.topics import TopicOperations
from kafkapy.admin.transactions import TransactionOperations
from kafkapy.admin.users import UserOperations


class AdminCore(
    TopicOperations,
    PartitionOperations,
    ReplicaOperations,
    ConfigOperations,
    GroupOperations,
    GroupOffsetOperations,
    ClusterOperations,
    QuotaOperations,
    TransactionOperations,
    UserOperations,
    TokenOperations,
    AclOperations,
):
    """All operations, after Kafka's `Admin`."""
