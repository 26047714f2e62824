"""All operations with kafka-python's names, arguments and results, for the three public admin clients."""

from __future__ import annotations

from kafkapy.admin.kafka_python.acls import AclMethods
from kafkapy.admin.kafka_python.cluster import ClusterMethods
from kafkapy.admin.kafka_python.old_groups import OldGroupMethods
from kafkapy.admin.kafka_python.tokens import TokenMethods
from kafkapy.admin.kafka_python.transactions import TransactionMethods
from kafkapy.admin.kafka_python.users import UserMethods


class KafkaPythonCore(OldGroupMethods, ClusterMethods, AclMethods, UserMethods, TokenMethods, TransactionMethods):
    """All operations; coroutines over completions."""
