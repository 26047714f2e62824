"""Persists high watermarks: the file `replication-offset-checkpoint` of each log directory."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from threading import Lock

from kafkapy.cluster.partition import Partition
from kafkapy.common.topic_partition import TopicPartition
from kafkapy.log.files.checkpoints import HIGH_WATERMARK_CHECKPOINT, OffsetCheckpointFile
from kafkapy.log.log import Log
from kafkapy.log.manager.log_manager import LogManager


class HighWatermarkCheckpoints:
    """Invariant: `_loaded` holds the values of a directory's file for partitions that have not been opened since the
    start; they are kept when the file is written."""

    def __init__(self, log_manager: LogManager) -> None:
        self._log_manager = log_manager
        self._writing = Lock()
        """Serializes writes: the last one of a stop may overlap a periodic one."""
        self._files = {
            directory: OffsetCheckpointFile(f"{directory}/{HIGH_WATERMARK_CHECKPOINT}")
            for directory in log_manager.live_log_dirs
        }
        self._loaded = {directory: self._read(directory, file) for directory, file in self._files.items()}

    def _read(self, directory: str, file: OffsetCheckpointFile) -> dict[TopicPartition, int]:
        """Return the file's content. A directory whose file can't be read is marked as failed."""
        try:
            return file.read()
        except OSError as error:
            message = f"Error while reading the high watermarks of log dir {directory}"
            self._log_manager.handle_log_dir_failure(directory, message, error)
            return {}

    def take(self, partition_log: Log, name: TopicPartition) -> int:
        """Return the log's checkpointed high watermark and remove it from `_loaded`; the log start offset if there is none."""
        saved = self._loaded.get(partition_log.parent_dir, {}).pop(name, 0)
        return max(saved, partition_log.log_start_offset)

    def forget(self, name: TopicPartition) -> None:
        for values in self._loaded.values():
            values.pop(name, None)

    def write(self, partitions: Iterable[Partition], sync: bool = True) -> None:
        """Write the file of each live directory; a directory that can't be written is marked as failed. Blocks.
        Without `sync` the files survive a crash of the process, but not of the machine."""
        with self._writing:
            self._write(partitions, sync)

    def _write(self, partitions: Iterable[Partition], sync: bool) -> None:
        values: dict[str, dict[TopicPartition, int]] = defaultdict(dict)
        for directory, loaded in self._loaded.items():
            values[directory].update(loaded)
        for partition in partitions:
            for partition_log in (partition.log, partition.future_log):
                if partition_log is not None:
                    values[partition_log.parent_dir][partition.topic_partition] = partition_log.high_watermark
        for directory in self._log_manager.live_log_dirs:
            try:
                self._files[directory].write(values[directory], sync)
            except OSError as error:
                message = f"Error while writing to high watermark file in directory {directory}"
                self._log_manager.handle_log_dir_failure(directory, message, error)
