"""Blocks of producer ids (KIP-730; Kafka's `ZkProducerIdManager`)."""

from __future__ import annotations

import logging

from kafkapy.controller.controller_context import ControllerContext
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import ProducerIdBlockZNode, ProducerIdsBlock

log = logging.getLogger("kafkapy.controller")

PRODUCER_ID_BLOCK_SIZE = 1000
"""Ids in a block (Kafka's `ProducerIdsBlock.PRODUCER_ID_BLOCK_SIZE`)."""
_LAST_PRODUCER_ID = 2**63 - 1


def allocate_producer_ids(
    request: AllocateProducerIdsRequest, context: ControllerContext, zk_client: KafkaZkClient
) -> AllocateProducerIdsResponse:
    """Allocate a block for the requesting broker; `KafkaError` unless it is alive with the request's epoch."""
    epoch = context.live_broker_epochs.get(request.broker_id)
    if epoch is None:
        raise KafkaError(Errors.BROKER_ID_NOT_REGISTERED)
    if epoch != request.broker_epoch:
        log.warning(
            "Broker %d gets no producer ids: its epoch is %d, not %d", request.broker_id, epoch, request.broker_epoch
        )
        raise KafkaError(Errors.STALE_BROKER_EPOCH)
    block = new_producer_ids_block(request.broker_id, zk_client)
    return AllocateProducerIdsResponse(producer_id_start=block.first_producer_id, producer_id_len=block.size)


def new_producer_ids_block(broker_id: int, zk_client: KafkaZkClient) -> ProducerIdsBlock:
    """Allocate the next block for a broker; the znode's version ensures that no other broker gets it.

    Raises `KafkaError(UNKNOWN_SERVER_ERROR)` when all ids have been allocated.
    """
    while True:
        data, version = zk_client.get_data_and_version(ProducerIdBlockZNode.path)
        first = 0
        if data:
            last = ProducerIdBlockZNode.decode(data)
            if last.last_producer_id > _LAST_PRODUCER_ID - PRODUCER_ID_BLOCK_SIZE:
                raise KafkaError(Errors.UNKNOWN_SERVER_ERROR, "Have exhausted all producerIds.")
            first = last.last_producer_id + 1
        block = ProducerIdsBlock(broker_id, first, PRODUCER_ID_BLOCK_SIZE)
        written, _ = zk_client.conditional_update_path(
            ProducerIdBlockZNode.path, ProducerIdBlockZNode.encode(block), version
        )
        if written:
            log.info("Broker %d gets producer ids %d to %d", broker_id, block.first_producer_id, block.last_producer_id)
            return block
