"""The state of one producer in a log, and its changes by one append (Kafka's `ProducerStateEntry`,
`ProducerAppendInfo`).
"""

from __future__ import annotations

import logging
from typing import Final

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_types import AppendOrigin, CompletedTxn, LogOffsetMetadata
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.control_records import ControlRecordType, EndTransactionMarker
from kafkapy.record.record_batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, decrement_sequence

logger = logging.getLogger("kafkapy.log.ProducerStateManager")

NO_TXN: Final = -1
MAX_SEQUENCE: Final = 0x7FFFFFFF

NUM_BATCHES_TO_RETAIN: Final = 5
"""The limit of batches that an idempotent producer may have in flight (Kafka's `ProducerStateEntry`)."""


class RetainedBatch:
    """One of a producer's last batches; immutable."""

    __slots__ = ("last_offset", "last_seq", "offset_delta", "timestamp")

    def __init__(self, last_seq: int, last_offset: int, offset_delta: int, timestamp: int) -> None:
        self.last_seq = last_seq
        self.last_offset = last_offset
        self.offset_delta = offset_delta
        self.timestamp = timestamp

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RetainedBatch) and (
            self.last_seq == other.last_seq
            and self.last_offset == other.last_offset
            and self.offset_delta == other.offset_delta
            and self.timestamp == other.timestamp
        )

    @property
    def first_seq(self) -> int:
        return decrement_sequence(self.last_seq, self.offset_delta)

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta


class TxnMetadata:
    """A transaction in the log: ongoing while `last_offset` is None, else ended by the marker at that offset."""

    __slots__ = ("first_offset", "last_offset", "producer_id")

    def __init__(self, producer_id: int, first_offset: LogOffsetMetadata) -> None:
        self.producer_id = producer_id
        self.first_offset = first_offset
        self.last_offset: int | None = None


class ProducerStateEntry:
    """The last batches, epoch and open transaction of one producer id.

    Invariant: `batches` holds at most five, oldest first, all of `producer_epoch`; `current_txn_first_offset` is the first
    offset of the open transaction or NO_TXN.
    """

    __slots__ = (
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
    )

    def __init__(
        self,
        producer_id: int,
        producer_epoch: int = NO_PRODUCER_EPOCH,
        coordinator_epoch: int = -1,
        last_timestamp: int = -1,
        current_txn_first_offset: int = NO_TXN,
        batch: RetainedBatch | None = None,
    ) -> None:
        self.producer_id = producer_id
        self.producer_epoch = producer_epoch
        self.coordinator_epoch = coordinator_epoch
        self.last_timestamp = last_timestamp
        self.current_txn_first_offset = current_txn_first_offset
        self.batches: list[RetainedBatch] = [batch] if batch is not None else []

    @property
    def last_seq(self) -> int:
        return self.batches[-1].last_seq if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        return self.batches[-1].last_offset if self.batches else -1

    @property
    def last_offset_delta(self) -> int:
        return self.batches[-1].offset_delta if self.batches else 0

    def find_duplicate_batch(self, epoch: int, first_seq: int, last_seq: int) -> RetainedBatch | None:
        """Return the retained batch with exactly this epoch and range of sequences."""
        if epoch == self.producer_epoch:
            for batch in self.batches:
                if batch.last_seq == last_seq and batch.first_seq == first_seq:
                    return batch
        return None

    def expects(self, epoch: int, first_seq: int) -> bool:
        """Return whether a batch with this epoch and first sequence is the next one, and there is no open transaction."""
        batches = self.batches
        if not batches or epoch != self.producer_epoch or self.current_txn_first_offset != NO_TXN:
            return False
        last_seq = batches[-1].last_seq
        return first_seq == last_seq + 1 and last_seq != MAX_SEQUENCE

    def add_batch(self, batch: RetainedBatch) -> None:
        """Add the expected batch."""
        batches = self.batches
        batches.append(batch)
        if len(batches) > NUM_BATCHES_TO_RETAIN:
            del batches[0]
        self.last_timestamp = batch.timestamp

    def update(self, info: ProducerAppendInfo) -> None:
        """Apply the changes of an append."""
        if self.producer_epoch != info.producer_epoch:
            self.batches.clear()
            self.producer_epoch = info.producer_epoch
        self.batches += info.batches
        del self.batches[:-NUM_BATCHES_TO_RETAIN]
        self.coordinator_epoch = info.coordinator_epoch
        self.current_txn_first_offset = info.current_txn_first_offset
        self.last_timestamp = info.last_timestamp


class ProducerAppendInfo:
    """Checks the batches of one producer in one append against its state, and collects the changes.

    The `ProducerStateEntry` does not change until the records are in the log. For clients, sequences and epochs are
    checked; for coordinators, epochs only; replication and recovery are not checked.
    """

    __slots__ = (
        "_current_entry",
        "_lowest_sequence",
        "_origin",
        "_partition",
        "batches",
        "coordinator_epoch",
        "current_txn_first_offset",
        "last_timestamp",
        "producer_epoch",
        "producer_id",
        "started_transactions",
    )

    def __init__(
        self,
        partition: TopicPartition,
        producer_id: int,
        current_entry: ProducerStateEntry,
        origin: AppendOrigin,
        lowest_sequence: int = MAX_SEQUENCE,
    ) -> None:
        """`lowest_sequence`: the highest allowed first sequence of a client's batch."""
        self._partition = partition
        self._lowest_sequence = lowest_sequence
        self._current_entry = current_entry
        self._origin = origin
        self.producer_id = producer_id
        self.producer_epoch = current_entry.producer_epoch
        self.coordinator_epoch = current_entry.coordinator_epoch
        self.last_timestamp = current_entry.last_timestamp
        self.current_txn_first_offset = current_entry.current_txn_first_offset
        self.batches: list[RetainedBatch] = []
        self.started_transactions: list[TxnMetadata] = []

    def append_data_batch(
        self,
        epoch: int,
        first_seq: int,
        last_seq: int,
        last_timestamp: int,
        first_offset: LogOffsetMetadata,
        last_offset: int,
        is_transactional: bool,
    ) -> None:
        """Add a batch of records.

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH, OUT_OF_ORDER_SEQUENCE_NUMBER, INVALID_TXN_STATE.
        """
        offset = first_offset.message_offset
        if epoch < self.producer_epoch:
            self._refuse_old_epoch(epoch, offset)
        if self._origin is AppendOrigin.CLIENT:
            self._check_sequence(epoch, first_seq, offset)
        if self.producer_epoch != epoch:
            self.batches.clear()
            self.producer_epoch = epoch
        self.batches.append(RetainedBatch(last_seq, last_offset, last_offset - offset, last_timestamp))
        if len(self.batches) > NUM_BATCHES_TO_RETAIN:
            del self.batches[0]
        self.last_timestamp = last_timestamp
        if self.current_txn_first_offset != NO_TXN:
            if not is_transactional:
                raise KafkaError(
                    Errors.INVALID_TXN_STATE,
                    f"Expected transactional write from producer {self.producer_id} at offset {first_offset} "
                    f"in partition {self._partition}",
                )
        elif is_transactional:
            self.current_txn_first_offset = offset
            self.started_transactions.append(TxnMetadata(self.producer_id, first_offset))

    def append_end_txn_marker(
        self, marker: EndTransactionMarker, epoch: int, offset: int, timestamp: int
    ) -> CompletedTxn | None:
        """Add a transaction's marker; return None if the producer had no open transaction here.

        Raises:
            KafkaError: INVALID_PRODUCER_EPOCH, TRANSACTION_COORDINATOR_FENCED.
        """
        if epoch < self.producer_epoch:
            self._refuse_old_epoch(epoch, offset)
        if marker.coordinator_epoch < self.coordinator_epoch:
            self._refuse_old_coordinator(marker.coordinator_epoch, offset)
        completed = None
        if self.current_txn_first_offset != NO_TXN:
            completed = CompletedTxn(
                self.producer_id, self.current_txn_first_offset, offset, marker.control_type == ControlRecordType.ABORT
            )
        if self.producer_epoch != epoch:
            self.batches.clear()
            self.producer_epoch = epoch
        self.coordinator_epoch = marker.coordinator_epoch
        self.current_txn_first_offset = NO_TXN
        self.last_timestamp = timestamp
        return completed

    def _check_sequence(self, epoch: int, first_seq: int, offset: int) -> None:
        if first_seq > self._lowest_sequence:
            raise KafkaError(
                Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Out of order sequence number for producer {self.producer_id} at offset {offset} in partition "
                f"{self._partition}: {first_seq} (incoming seq. number), {self._lowest_sequence} (earliest seen sequence)",
            )
        if epoch != self.producer_epoch:
            if first_seq != 0 and self.producer_epoch != NO_PRODUCER_EPOCH:
                raise KafkaError(
                    Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
                    f"Invalid sequence number for new epoch of producer {self.producer_id} at offset {offset} in "
                    f"partition {self._partition}: {epoch} (request epoch), {first_seq} (seq. number), "
                    f"{self.producer_epoch} (current producer epoch)",
                )
            return
        current = self._current_entry
        if self.batches:
            last_seq = self.batches[-1].last_seq
        elif epoch == current.producer_epoch:
            last_seq = current.last_seq
        else:
            last_seq = NO_SEQUENCE
        # Without a known epoch (the producer's records may all have been deleted) any sequence is allowed.
        if current.producer_epoch != NO_PRODUCER_EPOCH and first_seq != (
            last_seq + 1 if last_seq != MAX_SEQUENCE else 0
        ):
            raise KafkaError(
                Errors.OUT_OF_ORDER_SEQUENCE_NUMBER,
                f"Out of order sequence number for producer {self.producer_id} at offset {offset} in partition "
                f"{self._partition}: {first_seq} (incoming seq. number), {last_seq} (current end sequence number)",
            )

    def _refuse_old_epoch(self, epoch: int, offset: int) -> None:
        message = (
            f"Epoch of producer {self.producer_id} at offset {offset} in {self._partition} is {epoch}, which is "
            f"smaller than the last seen epoch {self.producer_epoch}"
        )
        if self._origin is not AppendOrigin.REPLICATION:
            raise KafkaError(Errors.INVALID_PRODUCER_EPOCH, message)
        logger.warning("[ProducerAppendInfo] %s", message)

    def _refuse_old_coordinator(self, epoch: int, offset: int) -> None:
        if self._origin is not AppendOrigin.REPLICATION:
            raise KafkaError(
                Errors.TRANSACTION_COORDINATOR_FENCED,
                f"Invalid coordinator epoch for producerId {self.producer_id} at offset {offset} in partition "
                f"{self._partition}: {epoch} (zombie), {self.coordinator_epoch} (current)",
            )
        logger.info(
            "[ProducerAppendInfo] Detected invalid coordinator epoch for producerId %d at offset %d in partition %s: "
            "%d is older than previously known coordinator epoch %d",
            self.producer_id, offset, self._partition, epoch, self.coordinator_epoch,
        )  # fmt: skip
