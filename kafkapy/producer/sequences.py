"""Sequence numbers of an idempotent producer (KIP-98, KIP-360; Kafka's `TransactionManager` and `TxnPartitionMap`).

A broker accepts a batch only if its first sequence follows the last one of this producer id, epoch and partition, and
recognizes duplicates of the last five batches. So a retry can't lose, duplicate or reorder a record, provided that

- sequences are assigned in order when a batch is first sent, and a batch keeps its own while it is retried;
- at most four batches follow an unfinished one: it may be written, and its response lost. After five more, the broker
  would not recognize its retry and would reject it for ever as out of order;
- a batch that failed in flight may or may not have been written, so there may be a gap. No new sequences are assigned
  in
  its partition until all others in flight have ended ("unresolved");
- after a gap the epoch is bumped, on the client's side only, and sequences begin at 0 again.
"""

from __future__ import annotations

import logging

from kafkapy.common.producer_id import ProducerIdAndEpoch
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.producer.batch import ProducerBatch, next_sequence, precedes
from kafkapy.protocol.errors import Errors
from kafkapy.record.batch_encoder import BatchProducer

_log = logging.getLogger("kafkapy.producer")

NO_LAST_ACKED = -1
_LAST_EPOCH = 32767
_BATCHES_KNOWN_AGAIN = 5
"""Batches of a producer and partition whose duplicates a broker recognizes
(`ProducerStateEntry.NUM_BATCHES_TO_RETAIN`)."""


UNKNOWN_PRODUCER = ProducerIdAndEpoch()


class PartitionSequences:
    """The sequences of one partition.

    Invariant: `in_flight` holds, by sequence, the unfinished batches that have one, including those that wait for a
    retry. `producer` is the id and epoch of these sequences: an older epoch while batches of it are in flight.
    `numbered` counts the batches that were given sequences.
    """

    __slots__ = ("in_flight", "last_acked_offset", "last_acked_sequence", "next_sequence", "numbered", "producer")

    def __init__(self, producer: ProducerIdAndEpoch) -> None:
        self.in_flight: list[ProducerBatch] = []
        self.numbered = 0
        self.begin(producer)
        self.last_acked_offset = -1

    def begin(self, producer: ProducerIdAndEpoch) -> None:
        """Begin at sequence 0 under this id and epoch; batches in flight get new sequences."""
        self.producer = producer
        self.next_sequence = 0
        self.last_acked_sequence = NO_LAST_ACKED
        for batch in self.in_flight:
            state = batch.producer
            batch.producer = BatchProducer(*producer, self.next_sequence, state.is_transactional)
            batch.sequence_was_reset = True
            self.next_sequence = next_sequence(self.next_sequence, batch.record_count)

    def is_next(self, sequence: int) -> bool:
        last = self.last_acked_sequence
        return sequence == (0 if last == NO_LAST_ACKED else next_sequence(last, 1))


class Sequences:
    """The sequences of all partitions of a producer.

    Invariant: new sequences are assigned under `producer`. `_unresolved`: partitions where a batch failed in flight,
    with the sequence after it. `_to_rewrite`: partitions that need a new epoch.
    """

    def __init__(self, is_transactional: bool = False) -> None:
        self.is_transactional = is_transactional
        self.producer = UNKNOWN_PRODUCER
        self.bump_required = False
        self._partitions: dict[TopicPartition, PartitionSequences] = {}
        self._unresolved: dict[TopicPartition, int] = {}
        self._to_rewrite: set[TopicPartition] = set()

    def partition(self, topic_partition: TopicPartition) -> PartitionSequences:
        found = self._partitions.get(topic_partition)
        if found is None:
            found = self._partitions[topic_partition] = PartitionSequences(self.producer)
        return found

    # --- producer id and epoch

    def reset(self, producer: ProducerIdAndEpoch) -> None:
        """Set a new producer id and discard all sequences (a transactional producer between two transactions)."""
        self.producer = producer
        self._partitions.clear()
        self._unresolved.clear()
        self._to_rewrite.clear()
        self.bump_required = False

    def request_bump(self, topic_partition: TopicPartition) -> None:
        """Request a new epoch, because there is a gap in this partition."""
        self.bump_required = True
        self._to_rewrite.add(topic_partition)

    def bump_if_required(self) -> None:
        """Bump the epoch; after the last one, unset the producer id, so that a new one is requested.

        Does nothing for a transactional producer, because its coordinator bumps the epoch.
        """
        if not self.bump_required or self.is_transactional:
            return
        if self.producer.epoch >= _LAST_EPOCH:
            self.producer = UNKNOWN_PRODUCER
            return
        if not self.producer.is_valid:
            return
        self.producer = ProducerIdAndEpoch(self.producer.producer_id, self.producer.epoch + 1)
        self._rewrite()

    def got_new_id(self, producer: ProducerIdAndEpoch) -> None:
        """Process the producer id of an InitProducerId response."""
        self.producer = producer
        if self.bump_required:
            self._rewrite()

    def _rewrite(self) -> None:
        _log.info("Sequences begin anew under %s in %s", self.producer, [str(p) for p in self._to_rewrite])
        for topic_partition in self._to_rewrite:
            self.partition(topic_partition).begin(self.producer)
            self._unresolved.pop(topic_partition, None)
        self._to_rewrite.clear()
        self.bump_required = False

    # --- sending

    def may_send(self, batch: ProducerBatch, node_id: int) -> bool:
        """Return whether the first batch of a partition's queue may be sent to this leader now."""
        if not self.producer.is_valid:
            return False
        sequences = self.partition(batch.topic_partition)
        in_flight = sequences.in_flight
        if not batch.has_sequence:
            if in_flight and sequences.producer != self.producer:
                return False  # batches of an older epoch have to end first
            if in_flight and sequences.last_acked_sequence == NO_LAST_ACKED:
                # A broker without state of a producer accepts any first sequence. If the second batch was sent before
                # the first # is acknowledged, the broker could write it first, and would then reject the first one for
                # ever.
                return False
            if in_flight and sequences.numbered - in_flight[0].number >= _BATCHES_KNOWN_AGAIN:
                return False  # five batches follow: the broker may not recognize a retry of the first
            if any(earlier.last_node != node_id for earlier in in_flight):
                return False  # the leader has moved, and may lack batches sent to the previous one: they go first
            return batch.topic_partition not in self._unresolved
        # Of batches that are retried only the first may be sent: the next ones would be out of order.
        return not in_flight or in_flight[0] is batch

    def assign(self, batch: ProducerBatch) -> None:
        """Assign a sequence to a batch that is sent for the first time."""
        sequences = self.partition(batch.topic_partition)
        if sequences.producer != self.producer and not sequences.in_flight:
            sequences.begin(self.producer)
        batch.producer = BatchProducer(*sequences.producer, sequences.next_sequence, self.is_transactional)
        sequences.next_sequence = next_sequence(sequences.next_sequence, batch.record_count)
        batch.number = sequences.numbered
        sequences.numbered += 1
        self.track(batch)

    def track(self, batch: ProducerBatch) -> None:
        """Add a batch with a sequence to those in flight."""
        in_flight = self.partition(batch.topic_partition).in_flight
        position = len(in_flight)
        while position and not precedes(in_flight[position - 1], batch):
            position -= 1
        in_flight.insert(position, batch)

    def untrack(self, batch: ProducerBatch) -> None:
        in_flight = self.partition(batch.topic_partition).in_flight
        if batch in in_flight:
            in_flight.remove(batch)

    # --- outcomes

    def completed(self, batch: ProducerBatch, base_offset: int) -> None:
        sequences = self.partition(batch.topic_partition)
        if batch in sequences.in_flight and batch.producer[:2] == sequences.producer:
            last = next_sequence(batch.producer.base_sequence, batch.record_count - 1)
            if sequences.last_acked_sequence == NO_LAST_ACKED or _is_after(last, sequences.last_acked_sequence):
                sequences.last_acked_sequence = last
            if base_offset >= 0:
                last_offset = base_offset + batch.record_count - 1
                sequences.last_acked_offset = max(sequences.last_acked_offset, last_offset)
        self.untrack(batch)

    def can_retry(self, batch: ProducerBatch, error: Errors, log_start_offset: int) -> bool | None:
        """Return whether to retry after an error about sequences: True, False (fail the batch), or None for other
        errors."""
        topic_partition = batch.topic_partition
        sequences = self.partition(topic_partition)
        if error is Errors.UNKNOWN_PRODUCER_ID:
            if log_start_offset < 0 or batch.sequence_was_reset:
                return True
            if sequences.last_acked_offset < log_start_offset:  # the broker's state has expired with the records
                if self.is_transactional:
                    sequences.begin(self.producer)
                else:
                    self.request_bump(topic_partition)
                return True
            if not self.is_transactional:
                self.request_bump(topic_partition)
                return True
            return False
        if error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER:
            unresolved = topic_partition in self._unresolved
            is_next = sequences.is_next(batch.producer.base_sequence)
            if not unresolved and (batch.sequence_was_reset or not is_next):
                return True  # a batch before it has failed and will be retried
            if not self.is_transactional:
                if not unresolved or self._unresolved[topic_partition] == batch.producer.base_sequence:
                    self.request_bump(topic_partition)
                return True
            return False
        return None

    def failed(self, batch: ProducerBatch, *, may_be_written: bool) -> None:
        """Process a failed batch. `may_be_written`: it failed in flight, so that the broker may have written it."""
        if not batch.has_sequence:
            return
        topic_partition = batch.topic_partition
        self.untrack(batch)
        if may_be_written:
            after = next_sequence(batch.producer.base_sequence, batch.record_count)
            self._unresolved[topic_partition] = after
        elif not self.is_transactional:
            self.request_bump(topic_partition)
        else:
            self._close_gap(batch)

    def _close_gap(self, batch: ProducerBatch) -> None:
        """Lower the sequences of the batches after this one, which was certainly not written."""
        sequences = self.partition(batch.topic_partition)
        if batch.producer[:2] != sequences.producer:
            return
        sequences.next_sequence = next_sequence(sequences.next_sequence, -batch.record_count)
        for later in sequences.in_flight:
            if _is_after(later.producer.base_sequence, batch.producer.base_sequence):
                sequence = next_sequence(later.producer.base_sequence, -batch.record_count)
                later.producer = later.producer._replace(base_sequence=sequence)
                later.sequence_was_reset = True

    def resolve(self) -> list[TopicPartition]:
        """Resolve partitions without batches in flight: if there is a gap, request a new epoch. Return those with a
        gap."""
        gaps = []
        for topic_partition in list(self._unresolved):
            sequences = self.partition(topic_partition)
            if not sequences.in_flight:
                del self._unresolved[topic_partition]
                if not sequences.is_next(sequences.next_sequence):
                    gaps.append(topic_partition)
                    self.request_bump(topic_partition)
        return gaps

    def in_flight(self) -> list[ProducerBatch]:
        return [batch for sequences in self._partitions.values() for batch in sequences.in_flight]


def _is_after(sequence: int, other: int) -> bool:
    """Compare sequences, which wrap; two of one partition are never far apart."""
    return sequence != other and (sequence - other) & 0x7FFFFFFF < 0x40000000
