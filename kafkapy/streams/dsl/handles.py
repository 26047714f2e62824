"""Streams and tables as operators know them; `KStream` and `KTable` are what users see of them."""

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
        name: Of the node that it comes out of.
        key_serde: None: not known; operators take `default.key.serde`.
        value_serde: None: not known; operators take `default.value.serde`.
        sources: Names of the nodes that its records are read by.
        needs_repartition: Its keys may have changed since they were read.
        node: Its operator in the graph.
        graph: Of the topology.
        repartition_node: What an earlier join has made of it, for the next one.
        in_columns: Grouping it gives aggregations that take batches.
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
        name: Of the node that its updates come out of.
        key_serde: None: not known; operators take `default.key.serde`.
        value_serde: None: not known; operators take `default.value.serde`.
        sources: Names of the nodes that its records are read by.
        queryable_store_name: Of its store, if it can be queried.
        supplier: Of its processors; knows how to look values up.
        node: Its operator in the graph.
        graph: Of the topology.
        sends_old_values: Its updates carry the values that they replace.
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
    """Have the topics of all be partitioned alike.

    Returns:
        The names of their sources.
    """
    sources = dict.fromkeys(handle.sources)
    for other in others:
        sources.update(dict.fromkeys(other.sources))
    handle.graph.topology.copartition_sources(sources)
    return tuple(sources)
