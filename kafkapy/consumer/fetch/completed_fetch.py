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
"""So few records are read faster one by one than as columns."""
_SMALL_BYTES = 1 << 16


class PolicyFirst(LookUpFirst):
    """The user's policy for a record that cannot be deserialized has to be asked; what that raises is for the user."""


class CompletedFetch:
    """Records that were fetched and not yet given out.

    Invariant: all before `next_offset` was given out or is not to be seen; `end_offset` is where the next fetch begins.
    They are good as long as `state` is the partition's state and has the version it had. `_small` is the only batch, if
    that has but a few plain records and nothing was taken.
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
        """The offset of a record that cannot be deserialized and that the user's policy has dealt with: it is passed over."""

    @property
    def follows_position(self) -> bool:
        """Do these records begin where the partition's position is?"""
        position = self.state.position
        return position is not None and position.offset == self.next_offset

    def take(self, count: int, factory: RecordFactory) -> list[ConsumerRecord]:
        """Up to `count` records; fewer or none at the end of a portion.

        Raises what is wrong with the next record, after all before it have been taken: CorruptRecordError and its like,
        RecordDeserializationError, or LookUpFirst.
        """
        batch, self._small = self._small, None
        few = self._few(batch) if batch is not None else []
        if batch is not None and 0 < len(few) <= count:
            try:
                records = factory.make_few(*self.partition, batch, few)
            except DeserializerFailure:
                pass  # the columns tell what comes before that, and behind
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
        """The same as a record batch; None for no records."""
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
        """The records of a small batch; none if they are anything but plain and sound."""
        try:
            if self._check_crcs:
                batch.ensure_valid()
            records = [record for record in batch.records() if record.offset >= self.next_offset]
        except KafkaError:
            return []
        return [] if any(record.headers for record in records) else records

    def _portion(self) -> RecordColumns | None:
        """The columns that are under way, or the next ones; None at the end."""
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
    """Few records, and none that a consumer must not see."""
    hidden = batch.is_control or (read_committed and batch.is_transactional)
    return 0 < batch.record_count <= _FEW and not hidden


def _epoch_at(columns: RecordColumns, last: int) -> int:
    """The leader epoch of the batch with the record before `last`."""
    epochs = columns.per_record(_LEADER_EPOCH)
    if isinstance(epochs, int):
        return epochs
    return columns.segments[-1].leader_epoch if last == len(columns) else epochs[last - 1]
