"""Suppresses updates of a table."""

from __future__ import annotations

from typing import Any

from kafkapy.streams.dsl.graph.tables import TableSuppressNode
from kafkapy.streams.dsl.graph.window_grace import find_window_close
from kafkapy.streams.dsl.handles import TableHandle
from kafkapy.streams.errors import TopologyException
from kafkapy.streams.options.suppressed import Suppressed
from kafkapy.streams.processors.ktable_suppress import KTableSuppressProcessorSupplier, SuppressedInternal
from kafkapy.streams.state.time_ordered_change_buffer import InMemoryTimeOrderedKeyValueChangeBufferBuilder

_SUPPRESS = "KTABLE-SUPPRESS-"


def suppress(table: TableHandle, suppressed: Suppressed) -> TableHandle:
    """Return the table with suppressed updates.

    Raises:
        TopologyException: The table is versioned, or it has no windows whose closing could be awaited.
    """
    if table.node.is_output_versioned:
        raise TopologyException("suppress() is only supported for non-versioned KTables")
    graph = table.graph
    name = suppressed.name if suppressed.name is not None else graph.names.processor_name(_SUPPRESS)
    until_close = suppressed.wait_ms is None
    wait_ms = find_window_close(table.node) if suppressed.wait_ms is None else suppressed.wait_ms
    store_name = graph.names.store_name(_SUPPRESS) if suppressed.name is None else f"{suppressed.name}-store"
    resolved = SuppressedInternal(suppressed.name, wait_ms, suppressed.buffer_config, until_close)
    supplier = KTableSuppressProcessorSupplier(resolved, store_name, table)
    node = TableSuppressNode(name, supplier, store=_buffer(table, suppressed, store_name))
    node.is_output_versioned = False
    graph.add(node, table.node)
    return TableHandle(name, table.key_serde, table.value_serde, (table.name,), None, supplier, node, graph)


def _buffer(table: TableHandle, suppressed: Suppressed, store_name: str) -> Any:
    config = suppressed.buffer_config
    builder = InMemoryTimeOrderedKeyValueChangeBufferBuilder(store_name, table.key_serde, table.value_serde)
    if config.logging_enabled:
        return builder.with_logging_enabled(dict(config.log_config))
    return builder.with_logging_disabled()
