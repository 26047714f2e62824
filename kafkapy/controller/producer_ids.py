"""Blocks of producer ids (KIP-730; Kafka's `ZkProducerIdManager`)."""

from __future__ import annotations

import logging

from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import ProducerIdBlockZNode, ProducerIdsBlock

log = logging.getLogger("kafkapy.controller")

PRODUCER_ID_BLOCK_SIZE = 1000
_LAST_PRODUCER_ID = 2**63 - 1


def new_producer_ids_block(broker_id: int, zk_client: KafkaZkClient) -> ProducerIdsBlock:
    """Take the next block for a broker; the znode's version makes sure that nobody else has it.

    Raises `KafkaError(UNKNOWN_SERVER_ERROR)` when all ids have been given away.
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
