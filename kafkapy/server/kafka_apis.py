"""Which handler serves which API. Nothing else: what an API does stands in `handlers/`."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import NamedTuple

from kafkapy.clients.completion import spawn
from kafkapy.common.clock import InThread
from kafkapy.network.channel import DECODED_AT_ONCE
from kafkapy.network.request import Request
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.many import has_many_structs, let_go
from kafkapy.protocol.message import Message
from kafkapy.server.handlers import api_versions, controller_apis, groups, security
from kafkapy.server.handlers.configs import ConfigsHandler
from kafkapy.server.handlers.control import ControlHandler
from kafkapy.server.handlers.controller_apis import ControllerApisHandler
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
from kafkapy.server.metadata.finalized_features import FinalizedFeatureListener

log = logging.getLogger("kafkapy.server.KafkaApis")

Answer = Message | Awaitable[Message | None] | None
Handler = Callable[[Request], Answer]


class Handlers(NamedTuple):
    """One of each, made with what it needs (`build.py`). A new API's handler comes in here, and into the table below."""

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
    ApiKey.DESCRIBE_ACLS: lambda _: security.handle_describe_acls,
    ApiKey.CREATE_ACLS: lambda _: security.handle_alter_acls,
    ApiKey.DELETE_ACLS: lambda _: security.handle_alter_acls,
    ApiKey.DESCRIBE_CONFIGS: lambda h: h.configs.handle_describe_configs,
    ApiKey.ALTER_CONFIGS: lambda h: h.configs.handle_alter_configs,
    ApiKey.ALTER_REPLICA_LOG_DIRS: lambda h: h.log_dirs.handle_alter_replica_log_dirs,
    ApiKey.DESCRIBE_LOG_DIRS: lambda h: h.log_dirs.handle_describe_log_dirs,
    ApiKey.SASL_AUTHENTICATE: lambda _: security.handle_sasl,
    ApiKey.CREATE_PARTITIONS: lambda h: h.topics.handle_create_partitions,
    ApiKey.CREATE_DELEGATION_TOKEN: lambda _: security.handle_delegation_tokens,
    ApiKey.RENEW_DELEGATION_TOKEN: lambda _: security.handle_delegation_tokens,
    ApiKey.EXPIRE_DELEGATION_TOKEN: lambda _: security.handle_delegation_tokens,
    ApiKey.DESCRIBE_DELEGATION_TOKEN: lambda _: security.handle_delegation_tokens,
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
    ApiKey.CONSUMER_GROUP_HEARTBEAT: lambda _: groups.handle_consumer_group_heartbeat,
    ApiKey.CONSUMER_GROUP_DESCRIBE: lambda _: groups.handle_consumer_group_describe,
}
"""Which handler serves which API; what is not here is not served."""


MANY = 2_000
"""Structs of a response that take so long to encode that others would notice."""

_HOT = (ApiKey.PRODUCE, ApiKey.FETCH)


class KafkaApis:
    """Calls the handler of a request and sees to it that the request is answered, whatever happens."""

    def __init__(self, handlers: Mapping[ApiKey, Handler], in_thread: InThread) -> None:
        """`in_thread` encodes answers that have much in them."""
        self._handlers = handlers
        self._in_thread = in_thread

    def handle(self, request: Request) -> None:
        try:
            answer = self._handlers[request.api_key](request)
        except Exception as error:
            self._failed(request, error)
            return
        if answer is None:
            return
        if isinstance(answer, Message):
            self._respond(request, answer)
        else:
            spawn(self._finish(request, answer))

    async def _finish(self, request: Request, answer: Awaitable[Message | None]) -> None:
        try:
            response = await answer
        except Exception as error:
            self._failed(request, error)
            return
        if response is not None:
            self._respond(request, response)

    def _respond(self, request: Request, response: Message) -> None:
        if request.api_key not in _HOT and has_many_structs(response, MANY):
            spawn(self._respond_in_thread(request, response))
        else:
            self._send(request, response)
            if request.size > DECODED_AT_ONCE and request.api_key not in _HOT:
                self._let_go(request, [])

    async def _respond_in_thread(self, request: Request, response: Message) -> None:
        try:
            await self._in_thread(request.encode, response)
        except Exception as error:
            self._failed(request, error)
        else:
            self._send(request, response)
            self._let_go(request, [response])

    def _let_go(self, request: Request, messages: list[Message]) -> None:
        """It is answered, so nobody needs what was asked any more."""
        body, request.body = request.body, None
        messages.append(body)
        rest, request.rest = request.rest, None
        spawn(_finished(self._in_thread(let_go, messages), rest))

    def _send(self, request: Request, response: Message) -> None:
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


async def _finished(work: Awaitable[None], rest: object) -> None:
    """The collector rests until then."""
    await work
