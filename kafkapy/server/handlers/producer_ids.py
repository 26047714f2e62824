"""InitProducerId for idempotent and transactional producers (KIP-98, KIP-360)."""

from __future__ import annotations

from dataclasses import dataclass

from kafkapy.common.acl_types import ACLOperation, ResourceType
from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kafkapy.network.request import Request, RequestContext
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kafkapy.server.authorizer import CLUSTER_NAME, Authorizer
from kafkapy.server.inter_broker.producer_ids import ProducerIdManager

_NO_ID = -1
_FIRST_WITH_FENCED = 4


@dataclass(eq=False)
class ProducerIdsHandler:
    """Assigns producer ids and epochs."""

    _authorizer: Authorizer
    _producer_ids: ProducerIdManager
    _transactions: TransactionCoordinator

    async def handle_init_producer_id(self, request: Request) -> InitProducerIdResponse:
        """Return the producer's id and epoch; without transactional id always a new id with epoch 0."""
        body: InitProducerIdRequest = request.body
        if body.transactional_id is not None:
            return await self._of_transactional_id(request, body, body.transactional_id)
        if not self._may_write(request.context):
            return _refused(Errors.CLUSTER_AUTHORIZATION_FAILED)
        if (body.producer_id == _NO_ID) != (body.producer_epoch == _NO_ID):
            return _refused(Errors.INVALID_REQUEST)
        try:
            return InitProducerIdResponse(producer_id=await self._producer_ids.generate_when_ready(), producer_epoch=0)
        except KafkaError as error:
            return _refused(error.error)

    def _may_write(self, context: RequestContext) -> bool:
        """Return whether the sender has IDEMPOTENT_WRITE on the cluster, or WRITE on any topic (KIP-679)."""
        authorizer = self._authorizer
        return (
            not authorizer.enabled
            or authorizer.authorize(
                context, ACLOperation.IDEMPOTENT_WRITE, ResourceType.CLUSTER, CLUSTER_NAME, log_if_denied=False
            )
            or authorizer.authorize_by_resource_type(context, ACLOperation.WRITE, ResourceType.TOPIC)
        )

    async def _of_transactional_id(
        self, request: Request, body: InitProducerIdRequest, transactional_id: str
    ) -> InitProducerIdResponse:
        if not self._authorizer.authorize(
            request.context, ACLOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id
        ):
            return _refused(Errors.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        if (body.producer_id == _NO_ID) != (body.producer_epoch == _NO_ID):
            return _refused(Errors.INVALID_REQUEST)
        expected = None if body.producer_id == _NO_ID else ProducerIdAndEpoch(body.producer_id, body.producer_epoch)
        timeout_ms = body.transaction_timeout_ms
        result = await self._transactions.init_producer_id(transactional_id, timeout_ms, expected)
        error = result.error
        if error is Errors.PRODUCER_FENCED and request.api_version < _FIRST_WITH_FENCED:
            error = Errors.INVALID_PRODUCER_EPOCH
        return InitProducerIdResponse(
            error_code=error.code, producer_id=result.producer_id, producer_epoch=result.producer_epoch
        )


def _refused(error: Errors) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error.code, producer_id=_NO_ID, producer_epoch=-1)
