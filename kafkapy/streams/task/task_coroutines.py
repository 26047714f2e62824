"""The coroutines of a task's operators."""

from __future__ import annotations

from collections.abc import Mapping

from kafkapy.streams.topology.coroutine_node import CoroutineNode
from kafkapy.streams.topology.processor_topology import ProcessorTopology


class TaskCoroutines:
    """Records of a task that wait for coroutines; false if no operator has some.

    Invariant: a node hands its records on in the order in which they came to it, and none of them twice.

    Args:
        topology: The task's.
    """

    def __init__(self, topology: ProcessorTopology) -> None:
        self._nodes = [node for node in topology.nodes if isinstance(node, CoroutineNode)]

    def __bool__(self) -> bool:
        return bool(self._nodes)

    @property
    def is_full(self) -> bool:
        """Whether a node cannot take another record."""
        return any(node.coroutines.is_full for node in self._nodes)

    @property
    def are_running(self) -> bool:
        """Whether a record waits."""
        return any(node.coroutines.waiting for node in self._nodes)

    def hand_on(self, *, all_of_them: bool = False) -> bool:
        """Go on with records whose coroutines have ended, parents first.

        Args:
            all_of_them: Whether to wait for those that run.

        Returns:
            Whether there was one.

        Raises:
            FailedProcessing: A coroutine or a node further down failed.
        """
        found = False
        for node in self._nodes:
            while node.hand_on_first(wait_for_it=all_of_them):
                found = True
        return found

    def handed_on(self, consumed: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        """The offset before the first record that waits, of each partition that has one.

        Args:
            consumed: The offset of the last record that was taken, by partition.
        """
        found: dict[tuple[str, int], int] = {}
        for node in self._nodes:
            for one in node.coroutines.waiting:
                where = one.context
                if where is not None and (where.topic, where.partition) in consumed:
                    partition = str(where.topic), where.partition
                    found[partition] = min(found.get(partition, where.offset), where.offset - 1)
        return found
