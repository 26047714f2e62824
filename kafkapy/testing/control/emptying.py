"""Empties a broker between two tests: deletes records, groups, committed offsets and transactions, and keeps topics
with their configs.

A follower must not fetch deleted records from another replica again. So the steps are separate orders: first all
brokers stop their fetchers, then all empty their logs, then all start fetching again.
"""

from __future__ import annotations

from kafkapy.cluster.partition import Partition
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkapy.server.build import Core
from kafkapy.server.replication.replica_fetcher_manager import InitialFetch


class Emptying:
    """The steps, to be called on the reactor thread. Each is idempotent."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def stop_following(self) -> None:
        """Stop all fetchers; responses in flight are dropped."""
        fetchers = self._core.replication.fetchers
        fetchers.remove([partition.topic_partition for partition in self._partitions() if not partition.is_leader])
        fetchers.stop_idle_fetchers()

    def empty(self) -> int:
        """Empty all logs; return how many had records."""
        core = self._core
        for partition in self._partitions():
            if partition.is_leader:
                self._forget_coordinated(partition)
        partitions = {partition.topic_partition: partition for partition in self._partitions()}
        emptied = core.log_manager.empty(partitions)
        now = core.replica_manager.time.monotonic_ms()
        for name in emptied:
            partition = partitions[name]
            for replica in partition.remote_replicas.values():
                replica.reset(now, 0, True, replica.broker_id in partition.isr)
        core.replica_manager.role_changed(*emptied)
        return len(emptied)

    def follow(self) -> None:
        """Fetch every followed partition again, from the end of its log (0 after `empty`)."""
        core, wanted = self._core, {}
        for partition in self._partitions():
            if not partition.is_leader and partition.leader_id >= 0 and partition.log is not None:
                wanted[partition.topic_partition] = InitialFetch(
                    partition.topic_id, partition.leader_id, partition.leader_epoch, partition.log.log_end_offset
                )
        core.replication.fetchers.add(wanted)

    def write_checkpoints(self) -> None:
        """Write the checkpoint files, without fsync. Blocks.

        Old checkpoints point behind the emptied logs: after a kill of the process, recovery would skip the records
        written since.
        """
        core = self._core
        core.log_manager.maintenance.checkpoint_all(sync=False)
        core.high_watermarks.write(self._partitions(), sync=False)

    def _partitions(self) -> list[Partition]:
        return list(self._core.replica_manager.partitions())

    def _forget_coordinated(self, partition: Partition) -> None:
        """Unload the groups or transactions of a partition of an internal topic."""
        name = partition.topic_partition
        if name.topic == GROUP_METADATA_TOPIC:
            self._core.group_coordinator.unload(name.partition)
        elif name.topic == TRANSACTION_STATE_TOPIC:
            self._core.transactions.coordinator.unload(name.partition)
