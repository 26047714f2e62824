"""One partition's part of a Fetch response on its way to the user (Kafka's `CompletedFetch`)."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, NoReturn

from kafkapy.common.leader_and_isr import NO_EPOCH
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.consumer.fetch.partition_records import AbortedTransactions, PartitionRecords, offset_after
from kafkapy.consumer.records import ConsumerRecord, DeserializerFailure, RecordFactory
from kafkapy.consumer.subscription_state import TopicPartitionState
from kafkapy.errors import RecordDeserializationError, error_for
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.fetch import FetchResponse
from kafkapy.record.columns import RecordColumns
from kafkapy.record.record_batch import DefaultRecord, RecordBatch, only_batch
from kafkapy.serializer import LookUpFirst

if TYPE_CHECKING:
    import pyarrow as pa

    from kafkapy.consumer.arrow import ArrowBuilder

_LEADER_EPOCH, _TIMESTAMP_TYPE = 1, 2  # the fields of `Segment`
_FEW = 8
"""Up to so many records, decoding one by one is faster than decoding columns."""
_SMALL_BYTES = 1 << 16


class PolicyFirst(LookUpFirst):
    """The user's policy for a record that can't be deserialized must be called first; its exceptions go to the
    user."""


class CompletedFetch:
    """Fetched records that were not returned yet.

    Invariant: every record before `next_offset` was returned or is hidden; `end_offset` is where the next fetch
    begins. The records are valid while `state` is the partition's state and its version is unchanged. `_small` is the
    only batch, if it has at most `_FEW` plain records and none was taken.
    """

    def __init__(
        self,
        partition: TopicPartition,
        state: TopicPartitionState,
        fetch_offset: int,
        data: FetchResponse.PartitionData,
        *,
        read_committed: bool,
        check_crcs: bool,
    ) -> None:
        """Raises CorruptRecordError if the sizes of the batches make no sense, UnknownError if there is no batch."""
        records = data.records
        assert records is not None
        self.partition = partition
        self.state = state
        self.version = state.version
        self.size = len(records)
        self.next_offset = fetch_offset
        self.leader_epoch = NO_EPOCH
        self.done = False
        self.end_offset = offset_after(records, fetch_offset)
        if self.end_offset == fetch_offset:
            raise error_for(
                Errors.UNKNOWN_SERVER_ERROR,
                f"Failed to make progress reading messages at {partition}={fetch_offset}. Received a non-empty fetch "
                "response from the server, but no complete records were found.",
            )
        self._small = only_batch(records) if self.size < _SMALL_BYTES else None
        if self._small is not None and not _is_plain(self._small, read_committed):
            self._small = None
        self._check_crcs = check_crcs
        aborted = AbortedTransactions(data.aborted_transactions or ()) if read_committed else None
        self._source = PartitionRecords(records, fetch_offset, aborted=aborted, check_crcs=check_crcs)
        self._portions = iter(self._source)
        self._columns: RecordColumns | None = None
        self._at = 0
        self._error: Exception | None = None
        self._settled = -1
        """The offset of a record that can't be deserialized and that the user's policy has handled: it is skipped."""

    @property
    def follows_position(self) -> bool:
        """Return whether these records begin at the partition's position."""
        position = self.state.position
        return position is not None and position.offset == self.next_offset

    def take(self, count: int, factory: RecordFactory) -> list[ConsumerRecord]:
        """Return up to `count` records; fewer or none at the end of a portion.

        Raises the next record's error, after all records before it were taken: CorruptRecordError or another error of
        a damaged batch, RecordDeserializationError, or LookUpFirst.
        """
        batch, self._small = self._small, None
        few = self._few(batch) if batch is not None else []
        if batch is not None and 0 < len(few) <= count:
            try:
                records = factory.make_few(*self.partition, batch, few)
            except DeserializerFailure:
                pass  # decoding as columns finds the records before the failure, and after it
            else:
                self.next_offset, self.leader_epoch = batch.next_offset, batch.partition_leader_epoch
                self.done = True
                return records
        columns = self._portion()
        if columns is None:
            return []
        first, last = self._at, min(self._at + count, len(columns))
        if first < last and columns.offsets[first] == self._settled:
            self._taken(columns, first + 1)
            return []
        try:
            records = factory.make(*self.partition, columns, first, last)
        except DeserializerFailure as failure:
            if failure.count == 0:
                self._raise(failure, columns, first, factory)
            records, last = failure.records, first + failure.count
        self._taken(columns, last)
        return records

    def _raise(self, failure: DeserializerFailure, columns: RecordColumns, at: int, factory: RecordFactory) -> NoReturn:
        cause = failure.__cause__
        if isinstance(cause, LookUpFirst):
            raise cause from None
        kinds = columns.per_record(_TIMESTAMP_TYPE)
        error = RecordDeserializationError(
            failure.origin,
            self.partition,
            columns.offsets[at],
            kinds if isinstance(kinds, int) else kinds[at],
            columns.timestamps[at],
            columns.keys(at, at + 1)[0],
            columns.values(at, at + 1)[0],
            columns.headers(at, at + 1)[0],
            f"{type(cause).__name__}: {cause}",
        )
        error.__cause__ = cause
        policy = factory.policy
        if not callable(policy):
            raise error

        def settle() -> None:
            if inspect.isawaitable(policy(error)):
                raise TypeError(
                    "deserialization_policy must be a plain function, which may block; it gave an awaitable"
                )
            self._settled = error.offset

        raise PolicyFirst(settle)

    def take_arrow(self, count: int, builder: ArrowBuilder) -> pa.RecordBatch | None:
        """As `take`, but return a record batch; None if there are no records."""
        columns = self._portion()
        if columns is None or self._at == len(columns):
            if columns is not None:
                self._taken(columns, self._at)
            return None
        first, last = self._at, min(self._at + count, len(columns))
        batch = builder.build(columns, first, last)
        self._taken(columns, last)
        return batch

    def _few(self, batch: RecordBatch) -> list[DefaultRecord]:
        """Return the records of a small batch; none unless all are plain and valid."""
        try:
            if self._check_crcs:
                batch.ensure_valid()
            records = [record for record in batch.records() if record.offset >= self.next_offset]
        except KafkaError:
            return []
        return [] if any(record.headers for record in records) else records

    def _portion(self) -> RecordColumns | None:
        """Return the current columns, or the next ones; None at the end."""
        if self._error is not None:
            raise self._error
        if self._columns is None:
            try:
                self._columns = next(self._portions, None)
            except KafkaError as error:
                offset = self._source.next_offset
                sentence = f"Record batch for partition {self.partition} at offset {offset} is invalid, cause: {error}"
                self._error = error_for(error.error, sentence)
                raise self._error from error
            self._at = 0
            if self._columns is None:
                self.done = True
        return self._columns

    def _taken(self, columns: RecordColumns, last: int) -> None:
        self._at = last
        if last < len(columns):
            self.next_offset = columns.offsets[last - 1] + 1
        else:
            self.next_offset = columns.next_offset
            self._columns = None
            self.done = self.next_offset >= self.end_offset
        self.leader_epoch = _epoch_at(columns, last)


def _is_plain(batch: RecordBatch, read_committed: bool) -> bool:
    """Return whether the batch has few records, all of them visible to the consumer."""
    hidden = batch.is_control or (read_committed and batch.is_transactional)
    return 0 < batch.record_count <= _FEW and not hidden


def _epoch_at(columns: RecordColumns, last: int) -> int:
    """Return the leader epoch of the batch that holds the record before `last`."""
    epochs = columns.per_record(_LEADER_EPOCH)
    if isinstance(epochs, int):
        return epochs
    return columns.segments[-1].leader_epoch if last == len(columns) else epochs[last - 1]
