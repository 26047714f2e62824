"""Joins of two tables by their keys."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.streams.dsl.graph.joins import JoinSide, TableTableJoinNode
from kafkapy.streams.dsl.handles import TableHandle, copartitioned
from kafkapy.streams.dsl.joiners import reversed_values
from kafkapy.streams.dsl.materialization import materialize
from kafkapy.streams.dsl.names import OperatorName
from kafkapy.streams.dsl.store_factories import KeyValueStoreFactory
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.named import Named
from kafkapy.streams.processors.ktable_ktable_inner_join import KTableKTableInnerJoin
from kafkapy.streams.processors.ktable_ktable_join_merger import KTableKTableJoinMerger
from kafkapy.streams.processors.ktable_ktable_left_join import KTableKTableLeftJoin
from kafkapy.streams.processors.ktable_ktable_outer_join import KTableKTableOuterJoin
from kafkapy.streams.processors.ktable_ktable_right_join import KTableKTableRightJoin

_MERGE = "KTABLE-MERGE-"


def join_tables(
    left: TableHandle,
    right: TableHandle,
    joiner: Callable[[Any, Any], Any],
    named: Named | None,
    materialized: Materialized[Any, Any] | None,
    left_outer: bool,
    right_outer: bool,
) -> TableHandle:
    """Return the table of the results."""
    graph = left.graph
    facts = None if materialized is None else materialize(materialized, graph, _MERGE)
    name = OperatorName.of(named)
    merge_name = name.or_generated(graph.names, _MERGE)
    sources = copartitioned(left, [right])
    if left_outer:
        left.enable_sending_old_values(True)
    if right_outer:
        right.enable_sending_old_values(True)
    this, other = _sides(left, right, joiner, left_outer, right_outer)
    this_name = name.with_suffix("-join-this", graph.names, "KTABLE-JOINTHIS-")
    other_name = name.with_suffix("-join-other", graph.names, "KTABLE-JOINOTHER-")
    if facts is not None:
        facts.default_key_serde(left.key_serde)
    store_name = None if facts is None else facts.store_name
    merger = KTableKTableJoinMerger(this, other, store_name)
    node = TableTableJoinNode(
        merge_name,
        JoinSide(this_name, this, left.name, left.value_getter_supplier().store_names()),
        JoinSide(other_name, other, right.name, right.value_getter_supplier().store_names()),
        merger,
        None if facts is None else KeyValueStoreFactory(facts),
    )
    node.is_output_versioned = facts is not None and facts.is_versioned
    graph.add(node, left.node)
    graph.add(node, right.node)
    key_serde = left.key_serde if facts is None else facts.key_serde
    value_serde = None if facts is None else facts.value_serde
    return TableHandle(merge_name, key_serde, value_serde, sources, store_name, merger, node, graph)


def _sides(
    left: TableHandle, right: TableHandle, joiner: Callable[[Any, Any], Any], left_outer: bool, right_outer: bool
) -> tuple[Any, Any]:
    """Return the suppliers of both sides' processors."""
    mirrored = reversed_values(joiner)
    if not left_outer:
        return KTableKTableInnerJoin(left, right, joiner), KTableKTableInnerJoin(right, left, mirrored)
    if not right_outer:
        return KTableKTableLeftJoin(left, right, joiner), KTableKTableRightJoin(right, left, mirrored)
    return KTableKTableOuterJoin(left, right, joiner), KTableKTableOuterJoin(right, left, mirrored)
