"""Which handler serves which API. Nothing else: what an API does stands in `handlers/`."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from twisted.internet.defer import Deferred

from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.message import Message
from kafkapy.server.handlers import (
    api_versions,
    configs,
    control,
    controller_apis,
    fetch,
    groups,
    list_offsets,
    log_dirs,
    metadata,
    produce,
    producer_ids,
    records,
    security,
    topics,
)

if TYPE_CHECKING:
    from kafkapy.server.services import BrokerServices

log = logging.getLogger("kafkapy.server.KafkaApis")

Answer = Message | Awaitable[Message | None] | None
Handler = Callable[["BrokerServices", Request], Answer]


def _api_versions(broker: BrokerServices, request: Request) -> Answer:
    return api_versions.handle_api_versions(broker, request, HANDLERS)


HANDLERS: dict[ApiKey, Handler] = {
    ApiKey.PRODUCE: produce.handle_produce,
    ApiKey.FETCH: fetch.handle_fetch,
    ApiKey.LIST_OFFSETS: list_offsets.handle_list_offsets,
    ApiKey.METADATA: metadata.handle_metadata,
    ApiKey.LEADER_AND_ISR: control.handle_leader_and_isr,
    ApiKey.STOP_REPLICA: control.handle_stop_replica,
    ApiKey.UPDATE_METADATA: control.handle_update_metadata,
    ApiKey.CONTROLLED_SHUTDOWN: controller_apis.handle_controlled_shutdown,
    ApiKey.OFFSET_COMMIT: groups.handle_offset_commit,
    ApiKey.OFFSET_FETCH: groups.handle_offset_fetch,
    ApiKey.FIND_COORDINATOR: groups.handle_find_coordinator,
    ApiKey.JOIN_GROUP: groups.handle_join_group,
    ApiKey.HEARTBEAT: groups.handle_heartbeat,
    ApiKey.LEAVE_GROUP: groups.handle_leave_group,
    ApiKey.SYNC_GROUP: groups.handle_sync_group,
    ApiKey.DESCRIBE_GROUPS: groups.handle_describe_groups,
    ApiKey.LIST_GROUPS: groups.handle_list_groups,
    ApiKey.SASL_HANDSHAKE: security.handle_sasl,
    ApiKey.API_VERSIONS: _api_versions,
    ApiKey.CREATE_TOPICS: topics.handle_create_topics,
    ApiKey.DELETE_TOPICS: topics.handle_delete_topics,
    ApiKey.DELETE_RECORDS: records.handle_delete_records,
    ApiKey.INIT_PRODUCER_ID: producer_ids.handle_init_producer_id,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: list_offsets.handle_offset_for_leader_epoch,
    ApiKey.DESCRIBE_ACLS: security.handle_describe_acls,
    ApiKey.CREATE_ACLS: security.handle_alter_acls,
    ApiKey.DELETE_ACLS: security.handle_alter_acls,
    ApiKey.DESCRIBE_CONFIGS: configs.handle_describe_configs,
    ApiKey.ALTER_CONFIGS: configs.handle_alter_configs,
    ApiKey.ALTER_REPLICA_LOG_DIRS: log_dirs.handle_alter_replica_log_dirs,
    ApiKey.DESCRIBE_LOG_DIRS: log_dirs.handle_describe_log_dirs,
    ApiKey.SASL_AUTHENTICATE: security.handle_sasl,
    ApiKey.CREATE_PARTITIONS: topics.handle_create_partitions,
    ApiKey.CREATE_DELEGATION_TOKEN: security.handle_delegation_tokens,
    ApiKey.RENEW_DELEGATION_TOKEN: security.handle_delegation_tokens,
    ApiKey.EXPIRE_DELEGATION_TOKEN: security.handle_delegation_tokens,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: security.handle_delegation_tokens,
    ApiKey.DELETE_GROUPS: groups.handle_delete_groups,
    ApiKey.ELECT_LEADERS: controller_apis.handle_elect_leaders,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: configs.handle_incremental_alter_configs,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: controller_apis.handle_alter_partition_reassignments,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: controller_apis.handle_list_partition_reassignments,
    ApiKey.OFFSET_DELETE: groups.handle_offset_delete,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: configs.handle_describe_client_quotas,
    ApiKey.ALTER_CLIENT_QUOTAS: configs.handle_alter_client_quotas,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: configs.handle_describe_user_scram_credentials,
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: configs.handle_alter_user_scram_credentials,
    ApiKey.ALTER_PARTITION: controller_apis.handle_alter_partition,
    ApiKey.UPDATE_FEATURES: controller_apis.handle_update_features,
    ApiKey.ENVELOPE: controller_apis.handle_envelope,
    ApiKey.DESCRIBE_CLUSTER: metadata.handle_describe_cluster,
    ApiKey.DESCRIBE_PRODUCERS: records.handle_describe_producers,
    ApiKey.ALLOCATE_PRODUCER_IDS: controller_apis.handle_allocate_producer_ids,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: groups.handle_consumer_group_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: groups.handle_consumer_group_describe,
}


class KafkaApis:
    """Calls the handler of a request and sees to it that the request is answered, whatever happens."""

    def __init__(self, broker: BrokerServices) -> None:
        self._broker = broker

    def handle(self, request: Request) -> None:
        try:
            answer = HANDLERS[request.api_key](self._broker, request)
        except Exception as error:
            self._failed(request, error)
            return
        if answer is None:
            return
        if isinstance(answer, Message):
            self._respond(request, answer)
        elif inspect.iscoroutine(answer):
            Deferred.fromCoroutine(self._finish(request, answer))

    async def _finish(self, request: Request, answer: Awaitable[Message | None]) -> None:
        try:
            response = await answer
        except Exception as error:
            self._failed(request, error)
            return
        if response is not None:
            self._respond(request, response)

    def _respond(self, request: Request, response: Message) -> None:
        try:
            request.respond(response)
        except Exception as error:
            self._failed(request, error)

    def _failed(self, request: Request, error: Exception) -> None:
        """Answer with the error in the API's own shape; where it has none, or that fails as well, hang up."""
        if isinstance(error, KafkaError):
            code, message = error.error, error.message
        else:
            log.error("Unexpected error handling %r", request, exc_info=error)
            code, message = Errors.UNKNOWN_SERVER_ERROR, None
        if request.cancelled:
            return
        try:
            response = error_response(request.body, request.api_version, code, message)
            if response is not None:
                request.note_errors(response)
                request.respond(response)
                return
        except Exception:
            log.exception("Could not answer %r with an error", request)
        request.close_connection(f"{request.api_key.name} failed: {code.name}")
