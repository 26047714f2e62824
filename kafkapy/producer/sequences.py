"""Sequence numbers of an idempotent producer (KIP-98, KIP-360; Kafka's `TransactionManager` and `TxnPartitionMap`).

A broker takes a batch only if its first sequence follows the last one it has of this producer id, epoch and partition,
and knows the last five batches again. So a retry can neither lose, double nor reorder a record, provided that

- sequences are given out when a batch is first sent, in order, and a batch keeps its own while it is retried;
- no more than four batches follow one that isn't done: it may be written, and its answer lost. Were there five, the broker
  would not know its retry again, and refuse it for ever as out of order;
- a batch that was in the air and was given up leaves a gap, or doesn't: nobody knows. No new sequences are given out for
  its partition until all others in flight have ended ("unresolved");
- where there is a gap, the epoch is bumped, on the client's side alone, and sequences begin at 0 again.
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
"""Of a producer and partition, by the broker (Kafka's `ProducerStateEntry.NUM_BATCHES_TO_RETAIN`)."""


UNKNOWN_PRODUCER = ProducerIdAndEpoch()


class PartitionSequences:
    """Of one partition.

    Invariant: `in_flight` holds, by sequence, the batches that have one and aren't done, retries that wait included;
    `producer` is whose sequences these are, which is an older epoch while batches of it are in flight. `numbered`: how
    many batches have got sequences so far.
    """

    __slots__ = ("in_flight", "last_acked_offset", "last_acked_sequence", "next_sequence", "numbered", "producer")

    def __init__(self, producer: ProducerIdAndEpoch) -> None:
        self.in_flight: list[ProducerBatch] = []
        self.numbered = 0
        self.begin(producer)
        self.last_acked_offset = -1

    def begin(self, producer: ProducerIdAndEpoch) -> None:
        """Sequences from 0 on; batches in flight get new ones."""
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
    """All partitions of a producer.

    Invariant: `producer` is what new sequences are given out under. `_unresolved`: partitions where a batch in the air
    was given up, with the sequence after it. `_to_rewrite`: those whose trouble asks for a new epoch.
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

    # --- whose sequences

    def reset(self, producer: ProducerIdAndEpoch) -> None:
        """A new producer, with no sequences of an old one (a transactional producer between two transactions)."""
        self.producer = producer
        self._partitions.clear()
        self._unresolved.clear()
        self._to_rewrite.clear()
        self.bump_required = False

    def request_bump(self, topic_partition: TopicPartition) -> None:
        """There is a gap: begin anew in this partition, under a new epoch."""
        self.bump_required = True
        self._to_rewrite.add(topic_partition)

    def bump_if_required(self) -> None:
        """Take the next epoch; after the last one there is no producer id any more, and a new one has to be asked for.
        Not for a transactional producer, whose coordinator does that."""
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
        """The answer to InitProducerId."""
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
        """May the first batch of a partition's queue go out now, to this leader?"""
        if not self.producer.is_valid:
            return False
        sequences = self.partition(batch.topic_partition)
        in_flight = sequences.in_flight
        if not batch.has_sequence:
            if in_flight and sequences.producer != self.producer:
                return False  # of an older epoch: they have to end first
            if in_flight and sequences.last_acked_sequence == NO_LAST_ACKED:
                # A broker that knows nothing of a producer takes any first sequence. Were the second batch sent before
                # the first is known to be written, it could be taken, and the first could never be any more.
                return False
            if in_flight and sequences.numbered - in_flight[0].number >= _BATCHES_KNOWN_AGAIN:
                return False  # those between may have arrived long since, while the first was retried
            if any(earlier.last_node != node_id for earlier in in_flight):
                return False  # the leader has moved, and may lack those sent to the one before: they go first
            return batch.topic_partition not in self._unresolved
        # Of batches that are retried only the first may go out: those behind it would be out of order.
        return not in_flight or in_flight[0] is batch

    def assign(self, batch: ProducerBatch) -> None:
        """Give a batch its sequence, when it is sent for the first time."""
        sequences = self.partition(batch.topic_partition)
        if sequences.producer != self.producer and not sequences.in_flight:
            sequences.begin(self.producer)
        batch.producer = BatchProducer(*sequences.producer, sequences.next_sequence, self.is_transactional)
        sequences.next_sequence = next_sequence(sequences.next_sequence, batch.record_count)
        batch.number = sequences.numbered
        sequences.numbered += 1
        self.track(batch)

    def track(self, batch: ProducerBatch) -> None:
        """A batch with a sequence is in flight."""
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
        """What the two errors about sequences ask for: True to retry, False to give up, None for other errors."""
        topic_partition = batch.topic_partition
        sequences = self.partition(topic_partition)
        if error is Errors.UNKNOWN_PRODUCER_ID:
            if log_start_offset < 0 or batch.sequence_was_reset:
                return True
            if sequences.last_acked_offset < log_start_offset:  # retention took the records that the broker knew it by
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
                return True  # one before it has failed and will be retried
            if not self.is_transactional:
                if not unresolved or self._unresolved[topic_partition] == batch.producer.base_sequence:
                    self.request_bump(topic_partition)
                return True
            return False
        return None

    def failed(self, batch: ProducerBatch, *, may_be_written: bool) -> None:
        """A batch was given up. `may_be_written`: it was in the air, so that the broker may have it, or not."""
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
        """The broker has certainly not written it: those behind it move up."""
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
        """Partitions whose last batches in flight have ended: either all of them arrived, or there is a gap and the epoch
        is bumped. Returns those with a gap."""
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
    """Sequences wrap; two of one partition are never far apart."""
    return sequence != other and (sequence - other) & 0x7FFFFFFF < 0x40000000
