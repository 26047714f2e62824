"""All operations, and how often each is drawn in relation to the others."""

from __future__ import annotations

from collections.abc import Callable

from system_tests.beside_apache import operations_cluster as cluster
from system_tests.beside_apache import operations_groups as groups
from system_tests.beside_apache import operations_logs as logs
from system_tests.beside_apache import operations_topics as topics
from system_tests.beside_apache import operations_transactions as transactions
from system_tests.beside_apache.draw import Draw
from system_tests.beside_apache.question import Question

Operation = Callable[[Draw], Question]

OPERATIONS: dict[Operation, int] = {
    topics.create_topics: 4,
    topics.create_partitions: 2,
    topics.metadata: 5,
    logs.produce: 14,
    logs.fetch: 12,
    logs.list_offsets: 8,
    logs.delete_records: 4,
    logs.offset_for_leader_epoch: 4,
    logs.init_producer_id: 3,
    logs.describe_producers: 4,
    transactions.init_transactions: 3,
    transactions.next_step: 14,
    transactions.write_txn_markers: 1,
    transactions.describe_transactions: 3,
    transactions.list_transactions: 2,
    transactions.find_coordinator: 1,
    groups.join_group: 18,
    groups.sync_group: 14,
    groups.heartbeat: 8,
    groups.leave_group: 3,
    groups.describe_groups: 6,
    groups.list_groups: 3,
    groups.delete_groups: 1,
    groups.find_coordinator: 2,
    groups.offset_commit: 8,
    groups.offset_fetch: 6,
    groups.offset_delete: 2,
    cluster.describe_configs: 3,
    cluster.alter_configs: 2,
    cluster.incremental_alter_configs: 3,
    cluster.describe_cluster: 1,
    cluster.describe_log_dirs: 2,
    cluster.alter_replica_log_dirs: 1,
    cluster.elect_leaders: 1,
    cluster.alter_partition_reassignments: 1,
    cluster.list_partition_reassignments: 1,
}

OPERATIONS_OF_GROUPS: dict[Operation, int] = {
    groups.next_step: 70,
    groups.join_group: 6,
    groups.sync_group: 3,
    groups.heartbeat: 3,
    groups.leave_group: 2,
    groups.describe_groups: 8,
    groups.list_groups: 2,
    groups.delete_groups: 1,
    groups.offset_commit: 3,
    groups.offset_fetch: 5,
    groups.offset_delete: 2,
}
"""Members mostly do what consumers do, so that most rebalances are gone through to their end."""

OPERATIONS_OF_TRANSACTIONS: dict[Operation, int] = {
    transactions.init_transactions: 8,
    transactions.next_step: 40,
    transactions.add_partitions_to_txn: 14,
    transactions.add_offsets_to_txn: 4,
    transactions.produce: 20,
    transactions.txn_offset_commit: 8,
    transactions.end_txn: 12,
    transactions.write_txn_markers: 2,
    transactions.describe_transactions: 12,
    transactions.list_transactions: 6,
    transactions.find_coordinator: 2,
    logs.fetch: 10,
    logs.list_offsets: 6,
    logs.describe_producers: 6,
    transactions.offset_fetch: 8,
}
