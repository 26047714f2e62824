"""The branches of a split stream."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kafkapy.streams.dsl.graph.node import ProcessorGraphNode
from kafkapy.streams.dsl.handles import StreamHandle
from kafkapy.streams.dsl.names import OperatorName
from kafkapy.streams.options.named import Named
from kafkapy.streams.processors.stateless import KStreamBranch, PassThrough


class Split:
    """Builds the branches of a stream.

    Invariant: the splitting processor has a predicate for each branch but the default one, in the order of the branches.
    """

    def __init__(self, stream: StreamHandle, named: Named | None) -> None:
        self._stream = stream
        self.name = OperatorName.of(named).or_generated(stream.graph.names, "KSTREAM-BRANCH-")
        self._supplier = KStreamBranch()
        self._node = ProcessorGraphNode(self.name, self._supplier)
        stream.graph.add(self._node, stream.node)

    def branch(self, predicate: Callable[[Any, Any], Any] | None, name: str | None) -> StreamHandle:
        """Add a branch.

        Args:
            predicate: Selects its records; None for the default branch.
            name: Suffix of its node's name; None: its number.
        """
        supplier = self._supplier
        number = 0
        if predicate is not None:
            supplier.predicates.append(predicate)
            number = len(supplier.predicates)
        child = self.name + (str(number) if name is None else name)
        supplier.children.append(child)
        self._stream.graph.names.processor_name(child)
        node = ProcessorGraphNode(child, PassThrough())
        self._stream.graph.add(node, self._node)
        return replace(self._stream, name=child, node=node, repartition_node=None)
