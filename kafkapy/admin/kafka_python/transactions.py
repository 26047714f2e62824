"""Administration of transactions: find and abort those that hang (KIP-664)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kafkapy.admin.kafka_python.base import Face
from kafkapy.admin.results import value_of, values_of
from kafkapy.admin.types import (
    AbortTransactionSpec,
    PartitionProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.errors import UnsupportedVersionError
from kafkapy.protocol.errors import Errors, KafkaError

_SLACK_MS = 300_000
"""Added to the longest transaction timeout before a transaction is reported as hanging (as in Kafka's tool)."""

_OVER = {
    TransactionState.EMPTY,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
    TransactionState.DEAD,
}


class TransactionMethods(Face):
    async def list_transactions(
        self,
        broker_ids: Iterable[int] | None = None,
        producer_id_filters: Iterable[int] | None = None,
        state_filters: Iterable[TransactionState | str] | None = None,
        duration_filter_ms: int | None = None,
        transactional_id_pattern: str | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """Return broker -> transactions that it coordinates.

        `duration_filter_ms` needs a broker from 3.8 on; `transactional_id_pattern` (KIP-1152) is not supported and
        raises UnsupportedVersionError.

        Args:
            broker_ids: Ids of the brokers to ask. None (default): all.
            producer_id_filters: Return only transactions of these producers. None (default): all.
            state_filters: Return only transactions in these states. None (default): all.
            duration_filter_ms: Return only transactions that are older, in ms (KIP-994). Default: all.
            transactional_id_pattern: Return only transactional ids that match. Default: all.
        """
        if transactional_id_pattern is not None:
            raise UnsupportedVersionError("transactional_id_pattern needs ListTransactions version 2")
        states = [TransactionState.build_from(state) for state in state_filters or ()]
        nodes = await self._broker_ids() if broker_ids is None else broker_ids
        duration_ms = None if duration_filter_ms is None else int(duration_filter_ms)
        call = self._call("ListTransactions")
        return values_of(await self.core.listings(call, nodes, producer_id_filters or (), states, duration_ms))

    async def describe_transactions(self, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription]:
        """Return transactional id -> its state. Raises the first error.

        Args:
            transactional_ids: The transactional ids (KIP-664).
        """
        return values_of(await self.core.transaction_descriptions(self._call("coordinator"), transactional_ids))

    async def describe_producers(
        self, partitions: Iterable[TopicPartition], broker_id: int | None = None
    ) -> dict[TopicPartition, PartitionProducerState]:
        """Return partition -> its active producers, from the leader or the replica on `broker_id`.

        Args:
            partitions: The partitions (KIP-664).
            broker_id: Broker to ask. None (default): each partition's leader.
        """
        return values_of(await self.core.producer_states(self._call("DescribeProducers"), partitions, broker_id))

    async def abort_transaction(self, spec: AbortTransactionSpec) -> None:
        """Write an abort marker into one partition. Raises its error.

        Args:
            spec: The partition and the producer, from `find_hanging_transactions`.
        """
        await self.core.abort(self._call("WriteTxnMarkers"), spec)

    async def find_hanging_transactions(
        self, broker_ids: Iterable[int] | None = None, max_transaction_timeout_ms: int = 900_000
    ) -> list[dict[str, Any]]:
        """Return transactions that are older than the longest transaction timeout, as dicts.

        First those of the coordinators (on these brokers), as in kafka-python. Then those that are open in the log of
        a partition (led by these brokers) and that no coordinator will end, as `kafka-transactions.sh find-hanging`
        finds them. The latter have one dict for each partition, with `transactional_id`, `state` and `coordinator_id`
        None; `age_ms` is that of the last record.

        Args:
            broker_ids: Ids of the brokers to ask. None (default): all.
            max_transaction_timeout_ms: The longest life of a transaction, in ms. Default 900,000 (15 minutes).
        """
        listed = await self.list_transactions(broker_ids=broker_ids)
        now = self.client.driver.time.milliseconds()
        limit_ms = max_transaction_timeout_ms + _SLACK_MS
        hanging = []
        for transactional_id, found in (await self._described(listed)).items():
            age = now - found.transaction_start_time_ms
            begun = found.transaction_start_time_ms >= 0
            if begun and found.state not in _OVER and age >= limit_ms:
                hanging.append(
                    {
                        "transactional_id": transactional_id,
                        "producer_id": found.producer_id,
                        "producer_epoch": found.producer_epoch,
                        "state": found.state.value,
                        "age_ms": age,
                        "coordinator_id": found.coordinator_id,
                        "topic_partitions": sorted(found.topic_partitions),
                    }
                )
        return hanging + await self._hanging_in_logs(None if broker_ids is None else set(broker_ids), now, limit_ms)

    async def _described(self, listed: dict[int, list[TransactionListing]]) -> dict[str, TransactionDescription]:
        ids = sorted({listing.transactional_id for listings in listed.values() for listing in listings})
        described = await self.core.transaction_descriptions(self._call("coordinator"), ids)
        return {
            transactional_id: value_of(found)
            for transactional_id, found in described.items()
            # An id that is not found has expired since it was listed.
            if not (isinstance(found, KafkaError) and found.error is Errors.TRANSACTIONAL_ID_NOT_FOUND)
        }

    async def _hanging_in_logs(self, leaders: set[int] | None, now: int, limit_ms: int) -> list[dict[str, Any]]:
        names = [
            TopicPartition(topic.name, partition.partition)
            for topic in (await self.core.list_topics()).values()
            for partition in topic.partitions
            if partition.leader_id >= 0 and (leaders is None or partition.leader_id in leaders)
        ]
        states = values_of(await self.core.producer_states(self._call("DescribeProducers"), names, None))
        open_since_long = [
            (name, producer)
            for name, state in states.items()
            for producer in state.active_producers
            if producer.current_transaction_start_offset >= 0 and now - producer.last_timestamp >= limit_ms
        ]
        if not open_since_long:
            return []
        producer_ids = {producer.producer_id for _, producer in open_since_long}
        described = await self._described(await self.list_transactions(producer_id_filters=producer_ids))
        known = {(found.producer_id, name) for found in described.values() for name in found.topic_partitions}
        return [
            {
                "transactional_id": None,
                "producer_id": producer.producer_id,
                "producer_epoch": producer.producer_epoch,
                "state": None,
                "age_ms": now - producer.last_timestamp,
                "coordinator_id": None,
                "topic_partitions": [name],
            }
            for name, producer in open_since_long
            if (producer.producer_id, name) not in known
        ]
