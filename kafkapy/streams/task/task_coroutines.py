"""The coroutines of a task's operators."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.streams.topology.coroutine_node import CoroutineNode
from kafkapy.streams.topology.processor_topology import ProcessorTopology


class TaskCoroutines:
    """Records of a task that wait for coroutines; falsy if no operator uses coroutines.

    Invariant: a node forwards its records in input order, and none of them twice.

    Args:
        topology: The task's topology.
    """

    def __init__(self, topology: ProcessorTopology) -> None:
        self._nodes = [node for node in topology.nodes if isinstance(node, CoroutineNode)]

    def __bool__(self) -> bool:
        return bool(self._nodes)

    @property
    def is_full(self) -> bool:
        """Return whether a node has reached its limit of coroutines."""
        return any(node.coroutines.is_full for node in self._nodes)

    @property
    def are_running(self) -> bool:
        """Return whether a record waits."""
        return any(node.coroutines.waiting for node in self._nodes)

    def hand_on(self, *, all_of_them: bool = False) -> bool:
        """Process records further whose coroutines have ended, parents first.

        Args:
            all_of_them: Whether to wait for running coroutines.

        Returns:
            Whether there was such a record.

        Raises:
            FailedProcessing: A coroutine or a downstream node failed.
        """
        found = False
        for node in self._nodes:
            while node.hand_on_first(wait_for_it=all_of_them):
                found = True
        return found

    def handed_on(self, consumed: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        """Return the offset before the first waiting record of each partition that has one.

        Args:
            consumed: The offset of the last consumed record, by partition.
        """
        found: dict[tuple[str, int], int] = {}
        for node in self._nodes:
            for one in node.coroutines.waiting:
                where = one.context
                if where is not None and (where.topic, where.partition) in consumed:
                    partition = str(where.topic), where.partition
                    found[partition] = min(found.get(partition, where.offset), where.offset - 1)
        return found
