"""What is known of a table's store while the topology is declared."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.dsl.graph.logical_graph import LogicalGraph
from kafkapy.streams.dsl.store_facts import StoreFacts
from kafkapy.streams.options.materialized import Materialized


def materialize(materialized: Materialized[Any, Any], graph: LogicalGraph, prefix: str | None) -> StoreFacts:
    """The facts of a store.

    Args:
        materialized: As the application wants it.
        graph: Numbers a store without a name, and knows the type of stores that the whole topology has.
        prefix: Of the generated name; None: the store stays without a name, and without the topology's type, as in Kafka.
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
