"""The coordinators' access to their logs: `PartitionLog` on top of the replica manager."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.log_types import AppendOrigin, FetchIsolation
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.server.metadata.metadata_cache import MetadataCache
from kafkapy.server.replication.delayed_produce import PendingAppend
from kafkapy.server.replication.replica_manager import ReplicaManager


class CoordinatorLog:
    """Implements `PartitionLog` for the coordinators of this broker."""

    def __init__(self, replica_manager: ReplicaManager, metadata_cache: MetadataCache, load_buffer_size: int) -> None:
        self._replica_manager = replica_manager
        self._metadata_cache = metadata_cache
        self._load_buffer_size = load_buffer_size

    def append(
        self, partition: TopicPartition, batch: bytes, done: Callable[[Errors, int], None], timeout_ms: int
    ) -> None:
        replica_manager = self._replica_manager
        try:
            info = replica_manager.append_to_local_log(partition, bytearray(batch), -1, AppendOrigin.COORDINATOR)
        except KafkaError as error:
            done(error.error, -1)
            return
        except OSError:
            done(Errors.KAFKA_STORAGE_ERROR, -1)
            return
        required = info.last_offset + 1
        if replica_manager.is_committed(partition, required):
            done(Errors.NONE, info.first_offset)
        else:
            append = PendingAppend(partition, required)
            replica_manager.wait_for_commit([append], timeout_ms, lambda: done(append.error, info.first_offset))
        replica_manager.appended(partition)

    def max_batch_size(self, partition: TopicPartition) -> int | None:
        local = self._replica_manager.partition(partition)
        return None if local is None or local.log is None else local.log.config.max_message_bytes

    def partition_count(self, topic: str) -> int | None:
        return self._metadata_cache.num_partitions(topic)

    def read_batches(self, partition: TopicPartition) -> Iterator[memoryview]:
        log = self._replica_manager.get_partition(partition).leader_log()
        offset = log.log_start_offset
        end = log.log_end_offset
        while offset < end:
            records = log.read(offset, self._load_buffer_size, FetchIsolation.LOG_END, True).records
            buffer = memoryview(records if isinstance(records, bytes) else records.read())
            whole, next_offset = _whole_batches(buffer)
            if next_offset is None:
                return
            yield buffer[:whole]
            offset = next_offset


def _whole_batches(buffer: memoryview) -> tuple[int, int | None]:
    """Return (bytes of the complete batches, offset after the last of them)."""
    position = 0
    next_offset: int | None = None
    while position + 61 <= len(buffer):
        size = 12 + int.from_bytes(buffer[position + 8 : position + 12], "big", signed=True)
        if position + size > len(buffer):
            break
        base = int.from_bytes(buffer[position : position + 8], "big")
        next_offset = base + int.from_bytes(buffer[position + 23 : position + 27], "big") + 1
        position += size
    return position, next_offset
