"""The admin client without a loop: coroutines over completions, for the faces of all three kinds."""

from __future__ import annotations

from kafkapy.admin.core.acls import AclOperations
from kafkapy.admin.core.cluster import ClusterOperations
from kafkapy.admin.core.transactions import TransactionOperations
from kafkapy.admin.core.users import UserOperations


class AdminCore(ClusterOperations, AclOperations, UserOperations, TransactionOperations):
    """All operations, with kafka-python's names, arguments and answers."""
