"""The nodes and stores of one task (Kafka's `ProcessorTopology`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.streams.processors.coroutines import CoroutineProcessor
from kafkapy.streams.topology.coroutine_node import CoroutineNode
from kafkapy.streams.topology.node_specs import NodeSpec, ProcessorSpec, SinkSpec, SourceSpec
from kafkapy.streams.topology.nodes import ProcessorNode, SinkNode, SourceNode, TopologyNode
from kafkapy.streams.topology.store_factory import StoreFactory
from kafkapy.streams.topology.topology_builder import Subgraph, TopologyBuilder


class ProcessorTopology:
    """The nodes and stores of one task, not shared with others.

    Attributes:
        nodes: In the order in which they were added, parents first.
        stores: By name, in the order in which they are flushed.
        changelogs: Topics by the names of stores.
        repartition_topics: Source topics that the application itself writes.
    """

    def __init__(
        self,
        nodes: list[TopologyNode],
        stores: dict[str, Any],
        changelogs: Mapping[str, str],
        sources: dict[str, SourceNode],
        repartition_topics: set[str],
    ) -> None:
        self.nodes = nodes
        self.stores = stores
        self.changelogs = changelogs
        self.repartition_topics = repartition_topics
        self._sources = sources

    @property
    def source_topics(self) -> list[str]:
        return list(self._sources)

    def source(self, topic: str) -> SourceNode:
        """Return the source that reads a topic."""
        return self._sources[topic]


def make_topology(
    builder: TopologyBuilder, subgraph: Subgraph, config: Mapping[str, Any], prefix: str, cached: bool
) -> ProcessorTopology:
    """Create the nodes and stores of a task.

    Args:
        builder: The topology.
        subgraph: The part that the task runs.
        config: The application's configuration.
        prefix: Prefix of internal topics.
        cached: False: no store has a cache.
    """
    builder.topic_prefix = prefix
    nodes: dict[str, TopologyNode] = {}
    for spec in subgraph.nodes:
        node = nodes[spec.name] = _node(builder, spec, prefix)
        for parent in spec.predecessors:
            nodes[parent].children.append(node)
    stores = {name: _store(factory, config, cached) for name, factory in subgraph.stores.items()}
    sources: dict[str, SourceNode] = {}
    for topic, source in subgraph.source_topics.items():
        made = nodes[source]
        assert isinstance(made, SourceNode)
        sources[topic] = made
    return ProcessorTopology(list(nodes.values()), stores, subgraph.changelogs, sources, subgraph.repartition_topics)


def make_global_topology(
    builder: TopologyBuilder, config: Mapping[str, Any], prefix: str, cached: bool
) -> ProcessorTopology | None:
    """Create the nodes and stores that maintain the global tables; None if there are none."""
    stores = builder.global_stores
    if not stores:
        return None
    nodes: dict[str, TopologyNode] = {}
    sources: dict[str, SourceNode] = {}
    for one in stores.values():
        source, processor = (_node(builder, builder.node(name), prefix) for name in (one.source, one.processor))
        assert isinstance(source, SourceNode)
        source.children.append(processor)
        nodes.update({one.source: source, one.processor: processor})
        sources[one.topic] = source
    made = {name: _store(one.factory, config, cached) for name, one in stores.items()}
    changelogs = {name: one.topic for name, one in stores.items()}
    return ProcessorTopology(list(nodes.values()), made, changelogs, sources, set())


def _node(builder: TopologyBuilder, spec: NodeSpec, prefix: str) -> TopologyNode:
    if isinstance(spec, SourceSpec):
        return SourceNode(spec.name, spec.key_deserializer, spec.value_deserializer, spec.timestamp_extractor)
    if isinstance(spec, SinkSpec):
        topic = builder.full_name(spec.topic, prefix) if isinstance(spec.topic, str) else spec.topic
        return SinkNode(spec.name, topic, spec.key_serializer, spec.value_serializer, spec.partitioner)
    assert isinstance(spec, ProcessorSpec)
    processor, stores = spec.supplier(), frozenset(spec.stores)
    if isinstance(processor, CoroutineProcessor):
        return CoroutineNode(spec.name, processor, stores)
    return ProcessorNode(spec.name, processor, stores)


def _store(factory: StoreFactory, config: Mapping[str, Any], cached: bool) -> Any:
    return (factory if cached else factory.with_caching_disabled()).build(config)
