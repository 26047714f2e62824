"""Streams and tables as operators use them; `KStream` and `KTable` wrap them for users."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kafkapy.streams.dsl.graph.logical_graph import LogicalGraph
from kafkapy.streams.dsl.graph.node import GraphNode
from kafkapy.streams.dsl.graph.repartitions import OptimizableRepartitionNode
from kafkapy.streams.processors.table import KTableProcessorSupplier, KTableValueGetterSupplier
from kafkapy.streams.serdes import Serde


@dataclass(slots=True, eq=False)
class StreamHandle:
    """A stream.

    Attributes:
        name: Name of the node that forwards its records.
        key_serde: None: not known; operators use `default.key.serde`.
        value_serde: None: not known; operators use `default.value.serde`.
        sources: Names of the nodes that read its records.
        needs_repartition: Whether its keys may have changed since they were read.
        node: Its operator in the graph.
        graph: The topology's graph.
        repartition_node: The repartition node of an earlier join, which later ones share.
        in_columns: Whether aggregations of the grouped stream process batches.
    """

    name: str
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    sources: tuple[str, ...]
    needs_repartition: bool
    node: GraphNode
    graph: LogicalGraph
    repartition_node: OptimizableRepartitionNode | None = None
    in_columns: bool = False


@dataclass(slots=True, eq=False)
class TableHandle:
    """A table: the `ParentTable` of the processors that are derived from it.

    Attributes:
        name: Name of the node that forwards its updates.
        key_serde: None: not known; operators use `default.key.serde`.
        value_serde: None: not known; operators use `default.value.serde`.
        sources: Names of the nodes that read its records.
        queryable_store_name: Name of its store, if it can be queried.
        supplier: Supplier of its processors; it also supplies the getter of values.
        node: Its operator in the graph.
        graph: The topology's graph.
        sends_old_values: Whether its updates contain the replaced values.
    """

    name: str
    key_serde: Serde[Any] | None
    value_serde: Serde[Any] | None
    sources: tuple[str, ...]
    queryable_store_name: str | None
    supplier: KTableProcessorSupplier
    node: GraphNode
    graph: LogicalGraph
    sends_old_values: bool = False

    def value_getter_supplier(self) -> KTableValueGetterSupplier:
        return self.supplier.view()

    def enable_sending_old_values(self, force_materialization: bool) -> bool:
        if not self.sends_old_values:
            self.sends_old_values = self.supplier.enable_sending_old_values(force_materialization)
        return self.sends_old_values


def copartitioned(handle: StreamHandle | TableHandle, others: Iterable[StreamHandle | TableHandle]) -> tuple[str, ...]:
    """Require the topics of all handles to be copartitioned.

    Returns:
        The names of their sources.
    """
    sources = dict.fromkeys(handle.sources)
    for other in others:
        sources.update(dict.fromkeys(other.sources))
    handle.graph.topology.copartition_sources(sources)
    return tuple(sources)
