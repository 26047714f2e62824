"""The producers of one log, their transactions and snapshots (Kafka's `ProducerStateManager`)."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.checkpoints import MalformedFileError
from kafkapy.log.files.file_batches import Batch
from kafkapy.log.files.log_files import (
    DELETED_FILE_SUFFIX,
    PRODUCER_SNAPSHOT_FILE_SUFFIX,
    delete_if_exists,
    fsync_file,
    offset_from_file,
    segment_file,
)
from kafkapy.log.log_types import AppendOrigin, CompletedTxn, LogOffsetMetadata
from kafkapy.log.producers.producer_snapshot import read_snapshot, write_snapshot
from kafkapy.log.producers.producer_state import (
    MAX_SEQUENCE,
    NO_TXN,
    ProducerAppendInfo,
    ProducerStateEntry,
    TxnMetadata,
)
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.record.control_records import end_transaction_marker
from kafkapy.record.record_batch import NO_PRODUCER_EPOCH, NO_SEQUENCE, RecordBatch

logger = logging.getLogger("kafkapy.log.ProducerStateManager")


class Verification:
    """Whether the coordinator has confirmed that a producer's transaction includes this partition (KIP-890).

    Invariant: `holds` is set from the coordinator's answer to the end of that transaction. `lowest_sequence` is the
    lowest of all batches of `newest_epoch` that were to begin it: the transaction cannot begin with a later sequence
    (KAFKA-14920). Batches of older epochs, of a fenced producer, don't change that.
    """

    __slots__ = ("holds", "is_old", "lowest_sequence", "newest_epoch", "producer_epoch")

    def __init__(self, producer_epoch: int, sequence: int = MAX_SEQUENCE, before: Verification | None = None) -> None:
        """`before`: the previous verification of the same transaction, or of an older one that never began."""
        self.producer_epoch = producer_epoch
        self.newest_epoch = producer_epoch
        self.lowest_sequence = sequence
        if before is not None and before.newest_epoch >= producer_epoch:
            self.newest_epoch = before.newest_epoch
            is_older = before.newest_epoch > producer_epoch
            self.lowest_sequence = before.lowest_sequence if is_older else min(sequence, before.lowest_sequence)
        self.holds = False
        self.is_old = False


class ProducerStateManager:
    """The state of every producer up to `map_end_offset`, in memory and in snapshot files.

    Invariants: `producers` reflects exactly the batches below `map_end_offset`. `ongoing_txns` (by first offset,
    ascending) are the open transactions; `unreplicated_txns` those whose marker is not yet below the high watermark:
    the smallest first offset of both is the first unstable offset. A snapshot file `<offset>.snapshot` holds the state
    at that offset; there is one at the base offset of every newer segment, so recovery of a segment starts from it. A
    snapshot torn by a crash fails its CRC and is dropped; an older one and a scan of the log replace it.
    """

    __slots__ = (
        "_directory",
        "_last_snapshot_offset",
        "_partition",
        "_snapshots",
        "map_end_offset",
        "ongoing_txns",
        "producer_id_expiration_ms",
        "producers",
        "unreplicated_txns",
        "verifications",
    )

    def __init__(
        self,
        partition: TopicPartition,
        directory: str,
        producer_id_expiration_ms: int,
        known_snapshots: Iterable[int] | None = None,
    ) -> None:
        """`known_snapshots`: offsets of the existing snapshot files, if the caller has listed the directory already."""
        self._partition = partition
        self._directory = directory
        self.producer_id_expiration_ms = producer_id_expiration_ms
        self.producers: dict[int, ProducerStateEntry] = {}
        self.ongoing_txns: dict[int, TxnMetadata] = {}
        self.unreplicated_txns: dict[int, TxnMetadata] = {}
        self.verifications: dict[int, Verification] = {}
        """By producer id, if transactions are verified: then no transaction begins here without a verification."""
        self.map_end_offset = 0
        self._last_snapshot_offset = 0
        self._snapshots = set(list_snapshot_offsets(directory) if known_snapshots is None else known_snapshots)

    @property
    def is_empty(self) -> bool:
        return not self.producers and not self.unreplicated_txns

    # -- the append path

    def prepare_update(self, producer_id: int, origin: AppendOrigin) -> ProducerAppendInfo:
        entry = self.producers.get(producer_id) or ProducerStateEntry(producer_id)
        verification = self.verifications.get(producer_id) if entry.current_txn_first_offset == NO_TXN else None
        lowest_sequence = MAX_SEQUENCE if verification is None else verification.lowest_sequence
        return ProducerAppendInfo(self._partition, producer_id, entry, origin, lowest_sequence)

    def update(self, info: ProducerAppendInfo) -> None:
        """Apply the changes of an append, once its records are in the log."""
        entry = self.producers.get(info.producer_id)
        if entry is None:
            entry = self.producers[info.producer_id] = ProducerStateEntry(info.producer_id)
        entry.update(info)
        latest, in_order = next(reversed(self.ongoing_txns), -1), True
        for txn in info.started_transactions:
            in_order = in_order and txn.first_offset.message_offset >= latest
            self.ongoing_txns[txn.first_offset.message_offset] = txn
        if not in_order:  # batches of several producers came together; sorted once, since a replay adds thousands
            self.ongoing_txns = dict(sorted(self.ongoing_txns.items()))

    def note_batch(
        self,
        batch: Batch,
        infos: dict[int, ProducerAppendInfo],
        origin: AppendOrigin,
        first_offset: LogOffsetMetadata | None = None,
    ) -> CompletedTxn | None:
        """Check one batch that has a producer id, and collect its changes in `infos` (by producer id).

        Return the transaction that it ends, if it is a transaction's marker. `KafkaError` as of `ProducerAppendInfo`.
        """
        producer_id = batch.producer_id
        info = infos.get(producer_id)
        if info is None:
            info = infos[producer_id] = self.prepare_update(producer_id, origin)
        if batch.is_control:
            assert isinstance(batch, RecordBatch)
            marker = end_transaction_marker(batch)
            if marker is None:  # the transaction was cleaned away, the batch remains for its sequence
                return None
            return info.append_end_txn_marker(marker, batch.producer_epoch, batch.base_offset, batch.max_timestamp)
        info.append_data_batch(
            batch.producer_epoch,
            batch.base_sequence,
            batch.last_sequence,
            batch.max_timestamp,
            first_offset or LogOffsetMetadata(batch.base_offset),
            batch.last_offset,
            batch.is_transactional,
        )
        return None

    def replay(self, batch: Batch) -> CompletedTxn | None:
        """Apply one batch that is in the log already; return the transaction that it ends, which the caller completes."""
        completed = None
        if batch.producer_id >= 0:
            infos: dict[int, ProducerAppendInfo] = {}
            completed = self.note_batch(batch, infos, AppendOrigin.REPLICATION)
            for info in infos.values():
                self.update(info)
        self.map_end_offset = batch.last_offset + 1
        return completed

    def begin_verification(
        self, producer_id: int, producer_epoch: int, sequence: int = NO_SEQUENCE
    ) -> Verification | None:
        """Return the object that the coordinator's answer is to be set on; None if the transaction has begun here
        already.

        `sequence`: the first sequence of the batch.
        """
        if self.has_ongoing_txn(producer_id, producer_epoch):
            return None
        before = self.verifications.get(producer_id)
        first = MAX_SEQUENCE if sequence == NO_SEQUENCE else sequence
        verification = self.verifications[producer_id] = Verification(producer_epoch, first, before)
        return verification

    def has_ongoing_txn(self, producer_id: int, producer_epoch: int) -> bool:
        entry = self.producers.get(producer_id)
        return entry is not None and entry.current_txn_first_offset != NO_TXN and entry.producer_epoch == producer_epoch

    def check_verified(self, producer_id: int, producer_epoch: int) -> None:
        """Raise INVALID_TXN_STATE if the producer's transaction needs verification to begin here, and is not verified
        (any more).
        """
        verification = self.verifications.get(producer_id)
        if verification is None or self.has_ongoing_txn(producer_id, producer_epoch):
            return
        if not verification.holds or verification.producer_epoch != producer_epoch:
            raise KafkaError(
                Errors.INVALID_TXN_STATE, f"The records on {self._partition} are not part of an ongoing transaction"
            )

    def end_verification(self, producer_id: int) -> None:
        """Invalidate verifications after a marker, including one whose answer is pending.

        Transactions that began before this broker led, or was started, end here, too, so an entry is kept for every
        producer.
        """
        self.verifications[producer_id] = Verification(NO_PRODUCER_EPOCH)

    def complete_txn(self, completed: CompletedTxn) -> None:
        """End a transaction after its marker: it remains unstable until the marker is below the high watermark."""
        txn = self.ongoing_txns.pop(completed.first_offset, None)
        if txn is None:
            raise ValueError(
                f"Attempted to complete transaction {completed} on {self._partition} which was not started"
            )
        txn.last_offset = completed.last_offset
        self.unreplicated_txns[completed.first_offset] = txn

    def last_stable_offset(self, completed: CompletedTxn) -> int:
        """Return the last stable offset just after this transaction's end, for the transaction index."""
        for txn in self.ongoing_txns.values():
            if txn.producer_id != completed.producer_id:
                return txn.first_offset.message_offset
        return completed.last_offset + 1

    def first_unstable_offset(self) -> LogOffsetMetadata | None:
        """Return the start of the oldest transaction that is open, or ended but not replicated yet."""
        ongoing = next(iter(self.ongoing_txns.values()), None)
        unreplicated = self.unreplicated_txns[min(self.unreplicated_txns)] if self.unreplicated_txns else None
        if ongoing is None:
            return unreplicated.first_offset if unreplicated is not None else None
        if unreplicated is None or ongoing.first_offset.message_offset < unreplicated.first_offset.message_offset:
            return ongoing.first_offset
        return unreplicated.first_offset

    def on_high_watermark_updated(self, high_watermark: int) -> None:
        """Remove transactions whose markers are replicated."""
        unreplicated = self.unreplicated_txns
        for first_offset in [o for o, txn in unreplicated.items() if (txn.last_offset or 0) < high_watermark]:
            del unreplicated[first_offset]

    def remove_expired_producers(self, now_ms: int) -> None:
        """Remove producers that have been idle for producer.id.expiration.ms and have no open transaction."""
        for producer_id in [p for p, entry in self.producers.items() if self._is_expired(now_ms, entry)]:
            del self.producers[producer_id]
        for producer_id, verification in list(self.verifications.items()):
            if verification.is_old and producer_id not in self.producers:
                del self.verifications[producer_id]
            verification.is_old = True  # removed next time, because its answer may be pending

    def _is_expired(self, now_ms: int, entry: ProducerStateEntry) -> bool:
        return (
            entry.current_txn_first_offset == NO_TXN and now_ms - entry.last_timestamp >= self.producer_id_expiration_ms
        )

    # -- truncation and reload

    def truncate_and_reload(self, log_start_offset: int, log_end_offset: int, now_ms: int) -> None:
        """Return to the newest snapshot in (log start, log end]; the caller scans the log from `map_end_offset` on."""
        for offset in [o for o in self._snapshots if o > log_end_offset or o <= log_start_offset]:
            self._delete_snapshot(offset)
        if log_end_offset == self.map_end_offset:
            self.on_log_start_offset_incremented(log_start_offset)
            return
        self._clear()
        self._load_from_snapshot(log_start_offset, now_ms)

    def complete_recovery(self, snapshots: set[int], log_start_offset: int, now_ms: int) -> None:
        """Complete recovery, when the log has been read to its end: have the state that a snapshot of now would
        restore.

        Of the existing files (`snapshots`), those that were not loaded or written here may include records that the
        crash has undone: they are deleted or overwritten.
        """
        for offset in snapshots - self._snapshots - {self.map_end_offset}:
            self._delete_snapshot(offset)
        if self.map_end_offset in snapshots:
            self.take_snapshot(sync=False)
        self.remove_expired_producers(now_ms)
        self.unreplicated_txns.clear()
        self.truncate_and_reload(log_start_offset, self.map_end_offset, now_ms)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        """Remove all state."""
        self._clear()
        for snapshot in list(self._snapshots):
            self._delete_snapshot(snapshot)
        self._last_snapshot_offset = 0
        self.map_end_offset = offset

    def on_log_start_offset_incremented(self, log_start_offset: int) -> None:
        self.on_high_watermark_updated(log_start_offset)
        self.map_end_offset = max(self.map_end_offset, log_start_offset)
        self._last_snapshot_offset = max(self._snapshots, default=log_start_offset)

    def _clear(self) -> None:
        self.producers.clear()
        self.ongoing_txns.clear()
        # Truncated records are at or above the high watermark, so no remaining one is waiting for replication.
        self.unreplicated_txns.clear()

    def _load_from_snapshot(self, log_start_offset: int, now_ms: int) -> None:
        while self._snapshots:
            offset = max(self._snapshots)
            try:
                entries = read_snapshot(self._path(offset))
            except (MalformedFileError, FileNotFoundError) as error:
                logger.warning("Failed to load producer snapshot from '%s': %s", self._path(offset), error)
                self._delete_snapshot(offset)
                continue
            self.load_entries(entry for entry in entries if not self._is_expired(now_ms, entry))
            self._last_snapshot_offset = self.map_end_offset = offset
            return
        self._last_snapshot_offset = self.map_end_offset = log_start_offset

    def load_entries(self, entries: Iterable[ProducerStateEntry]) -> None:
        """Add entries of a snapshot."""
        open_txns = []
        for entry in entries:
            self.producers[entry.producer_id] = entry
            if entry.current_txn_first_offset != NO_TXN:
                open_txns.append((entry.current_txn_first_offset, entry.producer_id))
        for first_offset, producer_id in sorted(open_txns):
            self.ongoing_txns[first_offset] = TxnMetadata(producer_id, LogOffsetMetadata(first_offset))

    # -- snapshots

    @property
    def snapshots(self) -> set[int]:
        """Return the offsets of the existing snapshot files."""
        return self._snapshots

    @property
    def latest_snapshot_offset(self) -> int | None:
        return max(self._snapshots, default=None)

    def take_snapshot(self, sync: bool = True) -> str | None:
        """Write the state at `map_end_offset`, unless that exists; return the path if one was written. `OSError`."""
        if self.map_end_offset <= self._last_snapshot_offset:
            return None
        path = self._path(self.map_end_offset)
        write_snapshot(path, self.producers.values(), sync)
        self._snapshots.add(self.map_end_offset)
        self._last_snapshot_offset = self.map_end_offset
        return path

    def take_final_snapshot(self, sync: bool) -> None:
        """Ensure a snapshot at `map_end_offset`, durable with `sync`, so that the log is not scanned after a clean
        shutdown. `OSError`.
        """
        if self.take_snapshot(sync) is None and sync and self.map_end_offset in self._snapshots:
            fsync_file(self._path(self.map_end_offset))

    def remove_stray_snapshots(self, segment_base_offsets: Iterable[int]) -> None:
        """Clean up at load: keep the snapshots at segment base offsets, and of the others the newest if it is after
        them all.
        """
        bases = set(segment_base_offsets)
        strays = sorted(offset for offset in self._snapshots if offset not in bases)
        if strays and strays[-1] >= max(bases, default=-1):
            strays.pop()
        for offset in strays:
            self._delete_snapshot(offset)

    def remove_and_mark_for_deletion(self, offset: int) -> str | None:
        """Add the suffix .deleted to the snapshot at an offset; return the new path, None if there is none."""
        if offset not in self._snapshots:
            return None
        self._snapshots.remove(offset)
        path = self._path(offset)
        try:
            os.rename(path, path + DELETED_FILE_SUFFIX)
        except FileNotFoundError:
            return None
        return path + DELETED_FILE_SUFFIX

    def update_directory(self, directory: str) -> None:
        self._directory = directory

    def _delete_snapshot(self, offset: int) -> None:
        self._snapshots.discard(offset)
        delete_if_exists(self._path(offset))

    def _path(self, offset: int) -> str:
        return segment_file(self._directory, offset, PRODUCER_SNAPSHOT_FILE_SUFFIX)


def list_snapshot_offsets(directory: str) -> list[int]:
    """Return offsets of the snapshot files in a directory."""
    return snapshot_offsets(os.listdir(directory))


def snapshot_offsets(names: Iterable[str]) -> list[int]:
    """Return the offsets of the snapshot files among these names."""
    return [offset_from_file(name) for name in names if name.endswith(PRODUCER_SNAPSHOT_FILE_SUFFIX)]
