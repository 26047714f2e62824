"""Derives the facts of a table's store while the topology is declared."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.dsl.graph.logical_graph import LogicalGraph
from kafkapy.streams.dsl.store_facts import StoreFacts
from kafkapy.streams.options.materialized import Materialized


def materialize(materialized: Materialized[Any, Any], graph: LogicalGraph, prefix: str | None) -> StoreFacts:
    """Return the facts of a store.

    Args:
        materialized: The application's options.
        graph: Generates the name of a store without one, and has the topology's default type of stores.
        prefix: Prefix of the generated name; None: the store has neither a name nor the topology's type, as in Kafka.
    """
    given = materialized.store_name if materialized.store_supplier is None else materialized.store_supplier.name
    name = given
    if name is None and prefix is not None:
        name = graph.names.store_name(prefix)
    return StoreFacts(
        name=name,
        queryable_name=given,
        supplier=materialized.store_supplier,
        store_type=materialized.store_type or (None if prefix is None else graph.store_type),
        key_serde=materialized.key_serde,
        value_serde=materialized.value_serde,
        logging_enabled=materialized.logging_enabled,
        log_config=materialized.log_config,
        caching_enabled=materialized.caching_enabled,
        retention_ms=materialized.retention_ms,
    )
