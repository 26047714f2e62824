"""Empties a broker between two tests: no records, groups, committed offsets, transactions. Topics and their configs stay.

What is emptied must not come back from another replica. So of several brokers none follows another while any still has
records, and the steps are orders of their own: all stop following, then all empty what they have, then all follow again.
"""

from __future__ import annotations

from kafkapy.cluster.partition import Partition
from kafkapy.common.topic_names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from kafkapy.server.build import Core
from kafkapy.server.replication.replica_fetcher_manager import InitialFetch


class Emptying:
    """On the reactor thread. Each step may be repeated."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def stop_following(self) -> None:
        """What is on its way from leaders is not taken any more."""
        fetchers = self._core.replication.fetchers
        fetchers.remove([partition.topic_partition for partition in self._partitions() if not partition.is_leader])
        fetchers.stop_idle_fetchers()

    def empty(self) -> int:
        """Of all logs here; how many partitions had been written to."""
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
        """From the start, for any leader."""
        core, wanted = self._core, {}
        for partition in self._partitions():
            if not partition.is_leader and partition.leader_id >= 0 and partition.log is not None:
                wanted[partition.topic_partition] = InitialFetch(
                    partition.topic_id, partition.leader_id, partition.leader_epoch, partition.log.log_end_offset
                )
        core.replication.fetchers.add(wanted)

    def write_checkpoints(self) -> None:
        """What files say of offsets that are no more would hide what is written next, after a crash: of the process, no test
        survives that of the machine. Blocks."""
        core = self._core
        core.log_manager.maintenance.checkpoint_all(sync=False)
        core.high_watermarks.write(self._partitions(), sync=False)

    def _partitions(self) -> list[Partition]:
        return list(self._core.replica_manager.partitions())

    def _forget_coordinated(self, partition: Partition) -> None:
        """What is coordinated by a partition that this broker goes on to lead."""
        name = partition.topic_partition
        if name.topic == GROUP_METADATA_TOPIC:
            self._core.group_coordinator.unload(name.partition)
        elif name.topic == TRANSACTION_STATE_TOPIC:
            self._core.transactions.coordinator.unload(name.partition)
