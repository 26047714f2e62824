"""The operations of an admin client without a loop: coroutines over completions that return typed values.

An operation on several keys returns a dict of key -> value or `KafkaError`; `values_of` and `value_of` of `results`
raise them. Errors of the operation as a whole are raised as `KafkaError`.
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
