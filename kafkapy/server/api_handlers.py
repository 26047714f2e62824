"""The table of APIs and their handlers, which are in `handlers/`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.server.handlers import api_versions, controller_apis, security
from kafkapy.server.handlers.acls import AclsHandler
from kafkapy.server.handlers.configs import ConfigsHandler
from kafkapy.server.handlers.control import ControlHandler
from kafkapy.server.handlers.controller_apis import ControllerApisHandler
from kafkapy.server.handlers.delegation_tokens import DelegationTokensHandler
from kafkapy.server.handlers.fetch import FetchHandler
from kafkapy.server.handlers.find_coordinator import FindCoordinatorHandler
from kafkapy.server.handlers.group_offsets import GroupOffsetsHandler
from kafkapy.server.handlers.groups import GroupsHandler
from kafkapy.server.handlers.list_offsets import OffsetsHandler
from kafkapy.server.handlers.log_dirs import LogDirsHandler
from kafkapy.server.handlers.metadata import MetadataHandler
from kafkapy.server.handlers.produce import ProduceHandler
from kafkapy.server.handlers.producer_ids import ProducerIdsHandler
from kafkapy.server.handlers.records import RecordsHandler
from kafkapy.server.handlers.topics import TopicsHandler
from kafkapy.server.handlers.transactions import TransactionsHandler
from kafkapy.server.kafka_apis import Handler
from kafkapy.server.metadata.finalized_features import FinalizedFeatureListener


class Handlers(NamedTuple):
    """One object of each handler class (`build.py` creates them). A new API's handler is added here and to the table
    below."""

    produce: ProduceHandler
    fetch: FetchHandler
    offsets: OffsetsHandler
    metadata: MetadataHandler
    control: ControlHandler
    controller: ControllerApisHandler
    topics: TopicsHandler
    records: RecordsHandler
    configs: ConfigsHandler
    log_dirs: LogDirsHandler
    producer_ids: ProducerIdsHandler
    find_coordinator: FindCoordinatorHandler
    groups: GroupsHandler
    group_offsets: GroupOffsetsHandler
    transactions: TransactionsHandler
    acls: AclsHandler
    delegation_tokens: DelegationTokensHandler
    features: FinalizedFeatureListener

    def by_api(self) -> dict[ApiKey, Handler]:
        return {api_key: choose(self) for api_key, choose in HANDLERS.items()}


HANDLERS: dict[ApiKey, Callable[[Handlers], Handler]] = {
    ApiKey.PRODUCE: lambda h: h.produce.handle,
    ApiKey.FETCH: lambda h: h.fetch.handle,
    ApiKey.LIST_OFFSETS: lambda h: h.offsets.handle_list_offsets,
    ApiKey.METADATA: lambda h: h.metadata.handle_metadata,
    ApiKey.LEADER_AND_ISR: lambda h: h.control.handle_leader_and_isr,
    ApiKey.STOP_REPLICA: lambda h: h.control.handle_stop_replica,
    ApiKey.UPDATE_METADATA: lambda h: h.control.handle_update_metadata,
    ApiKey.CONTROLLED_SHUTDOWN: lambda h: h.controller.handle_controlled_shutdown,
    ApiKey.OFFSET_COMMIT: lambda h: h.group_offsets.handle_offset_commit,
    ApiKey.OFFSET_FETCH: lambda h: h.group_offsets.handle_offset_fetch,
    ApiKey.FIND_COORDINATOR: lambda h: h.find_coordinator.handle_find_coordinator,
    ApiKey.JOIN_GROUP: lambda h: h.groups.handle_join_group,
    ApiKey.HEARTBEAT: lambda h: h.groups.handle_heartbeat,
    ApiKey.LEAVE_GROUP: lambda h: h.groups.handle_leave_group,
    ApiKey.SYNC_GROUP: lambda h: h.groups.handle_sync_group,
    ApiKey.DESCRIBE_GROUPS: lambda h: h.groups.handle_describe_groups,
    ApiKey.LIST_GROUPS: lambda h: h.groups.handle_list_groups,
    ApiKey.SASL_HANDSHAKE: lambda _: security.handle_sasl,
    ApiKey.API_VERSIONS: lambda h: partial(api_versions.handle_api_versions, tuple(HANDLERS), h.features),
    ApiKey.CREATE_TOPICS: lambda h: h.topics.handle_create_topics,
    ApiKey.DELETE_TOPICS: lambda h: h.topics.handle_delete_topics,
    ApiKey.DELETE_RECORDS: lambda h: h.records.handle_delete_records,
    ApiKey.INIT_PRODUCER_ID: lambda h: h.producer_ids.handle_init_producer_id,
    ApiKey.ADD_PARTITIONS_TO_TXN: lambda h: h.transactions.handle_add_partitions_to_txn,
    ApiKey.ADD_OFFSETS_TO_TXN: lambda h: h.transactions.handle_add_offsets_to_txn,
    ApiKey.END_TXN: lambda h: h.transactions.handle_end_txn,
    ApiKey.WRITE_TXN_MARKERS: lambda h: h.transactions.handle_write_txn_markers,
    ApiKey.TXN_OFFSET_COMMIT: lambda h: h.transactions.handle_txn_offset_commit,
    ApiKey.DESCRIBE_TRANSACTIONS: lambda h: h.transactions.handle_describe_transactions,
    ApiKey.LIST_TRANSACTIONS: lambda h: h.transactions.handle_list_transactions,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: lambda h: h.offsets.handle_offset_for_leader_epoch,
    ApiKey.DESCRIBE_ACLS: lambda h: h.acls.handle_describe_acls,
    ApiKey.CREATE_ACLS: lambda h: h.acls.handle_create_acls,
    ApiKey.DELETE_ACLS: lambda h: h.acls.handle_delete_acls,
    ApiKey.DESCRIBE_CONFIGS: lambda h: h.configs.handle_describe_configs,
    ApiKey.ALTER_CONFIGS: lambda h: h.configs.handle_alter_configs,
    ApiKey.ALTER_REPLICA_LOG_DIRS: lambda h: h.log_dirs.handle_alter_replica_log_dirs,
    ApiKey.DESCRIBE_LOG_DIRS: lambda h: h.log_dirs.handle_describe_log_dirs,
    ApiKey.SASL_AUTHENTICATE: lambda _: security.handle_sasl,
    ApiKey.CREATE_PARTITIONS: lambda h: h.topics.handle_create_partitions,
    ApiKey.CREATE_DELEGATION_TOKEN: lambda h: h.delegation_tokens.handle_create,
    ApiKey.RENEW_DELEGATION_TOKEN: lambda h: h.delegation_tokens.handle_renew,
    ApiKey.EXPIRE_DELEGATION_TOKEN: lambda h: h.delegation_tokens.handle_expire,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: lambda h: h.delegation_tokens.handle_describe,
    ApiKey.DELETE_GROUPS: lambda h: h.groups.handle_delete_groups,
    ApiKey.ELECT_LEADERS: lambda h: h.controller.handle_elect_leaders,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: lambda h: h.configs.handle_incremental_alter_configs,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: lambda h: h.controller.handle_alter_partition_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: lambda h: h.controller.handle_list_partition_reassignments,
    ApiKey.OFFSET_DELETE: lambda h: h.group_offsets.handle_offset_delete,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: lambda h: h.configs.handle_describe_client_quotas,
    ApiKey.ALTER_CLIENT_QUOTAS: lambda h: h.configs.handle_alter_client_quotas,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: lambda h: h.configs.handle_describe_user_scram_credentials,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: lambda h: h.configs.handle_alter_user_scram_credentials,
    ApiKey.ALTER_PARTITION: lambda h: h.controller.handle_alter_partition,
    ApiKey.UPDATE_FEATURES: lambda h: h.controller.handle_update_features,
    ApiKey.ENVELOPE: lambda _: controller_apis.handle_envelope,
    ApiKey.DESCRIBE_CLUSTER: lambda h: h.metadata.handle_describe_cluster,
    ApiKey.DESCRIBE_PRODUCERS: lambda h: h.records.handle_describe_producers,
    ApiKey.ALLOCATE_PRODUCER_IDS: lambda h: h.controller.handle_allocate_producer_ids,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: lambda h: h.groups.handle_consumer_group_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: lambda h: h.groups.handle_consumer_group_describe,
}
"""The handler of each API; other APIs are not supported."""
