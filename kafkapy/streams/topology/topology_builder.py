"""Collects the nodes and stores of a topology, validates them, and selects the part that a task runs.

Kafka's `InternalTopologyBuilder`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from kafkapy.common.java_hash_order import hash_map_order
from kafkapy.streams.errors import TopologyException
from kafkapy.streams.offset_reset import AutoOffsetReset
from kafkapy.streams.serdes import Deserializer, Serializer
from kafkapy.streams.topology.description import TopologyDescription, describe
from kafkapy.streams.topology.internal_topics import InternalTopic, changelog_topic, repartition_topic
from kafkapy.streams.topology.node_groups import NodeGroups
from kafkapy.streams.topology.node_specs import (
    NodeSpec,
    Partitioner,
    ProcessorSpec,
    SinkSpec,
    SourceSpec,
    TopicExtractor,
)
from kafkapy.streams.topology.store_factory import ChangelogKind, StoreFactory


class GlobalStore(NamedTuple):
    """A store that each instance fills from all partitions of a topic."""

    factory: StoreFactory
    topic: str
    source: str
    processor: str


class Subgraph(NamedTuple):
    """The declared part of the topology that a task runs: nodes in the order in which they were added, their stores,
    their topics.

    Attributes:
        id: Number of the sub-topology.
        nodes: Sources, processors and sinks.
        stores: Factories by name, in the order in which a task registers and flushes them.
        changelogs: Topics by the names of stores; stores without a changelog are missing.
        source_topics: Names of the sources by topic; internal topics have their full names.
        sink_topics: Topics that sinks write by name.
        repartition_topics: Full names of the repartition topics that it reads or writes.
    """

    id: int
    nodes: list[NodeSpec]
    stores: dict[str, StoreFactory]
    changelogs: dict[str, str]
    source_topics: dict[str, str]
    sink_topics: set[str]
    repartition_topics: set[str]


class TopologyBuilder:
    """The nodes and stores of a topology, during and after its construction.

    Invariants: a node's predecessors were added before it; each store of a processor is in `_stores`; `_groups` unites
    nodes that
    are connected by records or by a store.
    """

    def __init__(self) -> None:
        self._nodes: dict[str, NodeSpec] = {}
        self._stores: dict[str, StoreFactory] = {}
        self._users: dict[str, list[str]] = {}
        """Processors by store."""
        self._global_stores: dict[str, GlobalStore] = {}
        self._internal_topics: dict[str, int | None] = {}
        """Numbers of partitions (None: not enforced) by the short names of repartition topics."""
        self._copartitioned: list[list[str]] = []
        """Names of sources whose topics need the same number of partitions."""
        self._source_changelogs: dict[str, str] = {}
        """Source topics by store, for stores whose changelog is their source topic."""
        self._groups = NodeGroups()
        self.topic_prefix: str | None = None
        """Prefix of internal topics; known when a task is created."""
        self.offset_resets: dict[str | re.Pattern[str], AutoOffsetReset] = {}
        """Offset reset policies set in the topology, by topic or pattern."""

    # --- declared ---------------------------------------------------------------------------------------------------------

    def add_source(
        self,
        name: str,
        topics: Sequence[str] | re.Pattern[str],
        *,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        timestamp_extractor: Any = None,
        offset_reset: AutoOffsetReset | None = None,
    ) -> None:
        """Read topics.

        Raises:
            TopologyException: A name or topic is taken, or there is no topic.
        """
        pattern = topics if isinstance(topics, re.Pattern) else None
        names = () if isinstance(topics, re.Pattern) else tuple(topics)
        if pattern is None and not names:
            raise TopologyException("You must provide at least one topic")
        self._check_new(name)
        if pattern is not None:
            self._check_pattern(pattern)
        for topic in names:
            self._check_topic_free(topic)
        if offset_reset is not None:
            self.offset_resets.update(dict.fromkeys(names if pattern is None else [pattern], offset_reset))
        spec = SourceSpec(name, (), names, pattern, key_deserializer, value_deserializer, timestamp_extractor)
        self._add(spec)

    def add_processor(self, name: str, supplier: Callable[[], Any], parents: Sequence[str]) -> None:
        """Add an operator.

        Args:
            name: Unique.
            supplier: Returns a new `Processor` or `FixedKeyProcessor` at each call.
            parents: Names of the nodes that forward to it.

        Raises:
            TopologyException: The name is taken, a parent is missing, or there is none.
        """
        self._check_new(name)
        if not parents:
            raise TopologyException(f"Processor {name} must have at least one parent")
        for parent in parents:
            if parent == name:
                raise TopologyException(f"Processor {name} cannot be a predecessor of itself.")
            if parent not in self._nodes:
                raise TopologyException(f"Predecessor processor {parent} is not added yet for {name}")
        self._add(ProcessorSpec(name, tuple(parents), supplier))

    def add_sink(
        self,
        name: str,
        topic: str | TopicExtractor,
        *,
        key_serializer: Serializer | None = None,
        value_serializer: Serializer | None = None,
        partitioner: Partitioner | None = None,
        parents: Sequence[str],
    ) -> None:
        """Write to a topic, or to one chosen by a function.

        Raises:
            TopologyException: The name is taken, a parent is missing or is a sink, or there is none.
        """
        if not parents:
            raise TopologyException(f"Sink {name} must have at least one parent")
        self._check_new(name)
        for parent in parents:
            if parent == name:
                raise TopologyException(f"Processor {name} cannot be a predecessor of itself.")
            if parent not in self._nodes:
                raise TopologyException(f"Predecessor processor {parent} is not added yet.")
            if isinstance(self._nodes[parent], SinkSpec):
                raise TopologyException(f"Sink {parent} cannot be used a parent.")
        self._add(SinkSpec(name, tuple(parents), topic, key_serializer, value_serializer, partitioner))

    def add_state_store(self, factory: StoreFactory, *processors: str) -> None:
        """Add a store, and connect it to processors.

        Raises:
            TopologyException: Another store has the name, or a processor is missing.
        """
        name = factory.name
        known = self._stores.get(name)
        if known is not None and known is not factory and not known.is_compatible_with(factory):
            raise TopologyException(f"A different StateStore has already been added with the name {name}")
        if name in self._global_stores:
            raise TopologyException(f"A different GlobalStateStore has already been added with the name {name}")
        self._stores[name] = factory
        for processor in processors:
            self._connect(processor, name)

    def connect_processor_and_state_stores(self, processor: str, *stores: str) -> None:
        """Connect a processor to stores.

        Raises:
            TopologyException: The processor or a store is missing, or a store is global.
        """
        if not stores:
            raise TopologyException("Must provide at least one state store name.")
        for store in stores:
            self._connect(processor, store)

    def add_global_store(
        self,
        factory: StoreFactory,
        source: str,
        topic: str,
        *,
        key_deserializer: Deserializer | None = None,
        value_deserializer: Deserializer | None = None,
        timestamp_extractor: Any = None,
        processor: str,
        supplier: Callable[[], Any],
    ) -> None:
        """Add a store that each instance fills from all partitions of a topic.

        Raises:
            TopologyException: A name or the topic is taken, or the store has a changelog.
        """
        name = factory.name
        self._check_new(source)
        self._check_new(processor)
        if name in self._stores:
            raise TopologyException(f"A different StateStore has already been added with the name {name}")
        if name in self._global_stores:
            raise TopologyException(f"A different GlobalStateStore has already been added with the name {name}")
        if factory.logging_enabled:
            raise TopologyException(f"StateStore {name} for global table must not have logging enabled.")
        if source == processor:
            raise TopologyException("sourceName and processorName must be different.")
        self._check_topic_free(topic)
        self._add(SourceSpec(source, (), (topic,), None, key_deserializer, value_deserializer, timestamp_extractor))
        self._add(ProcessorSpec(processor, (source,), supplier, [name]))
        self._global_stores[name] = GlobalStore(factory, topic, source, processor)
        self.connect_source_store_and_topic(name, topic)

    def add_internal_topic(self, name: str, partitions: int | None = None) -> None:
        """Add a repartition topic. `name`: without the application's prefix; `partitions`: the enforced number, or
        None."""
        self._internal_topics[name] = partitions

    def connect_source_store_and_topic(self, store: str, topic: str) -> None:
        """Use the source topic of a store as its changelog.

        Raises:
            TopologyException: The store already has a changelog topic.
        """
        if store in self._source_changelogs:
            raise TopologyException(f"Source store {store} is already added.")
        self._source_changelogs[store] = topic

    def copartition_sources(self, sources: Iterable[str]) -> None:
        """Require the same number of partitions of these sources' topics."""
        self._copartitioned.append(list(dict.fromkeys(sources)))

    def update_copartition_source_groups(self, old: str, new: str) -> None:
        """Replace a source by another in the copartition groups."""
        for group in self._copartitioned:
            if old in group:
                group[:] = list(dict.fromkeys([name for name in group if name != old] + [new]))

    def validate_copartition(self) -> None:
        """Validate the groups in which all topics have an enforced number of partitions.

        Raises:
            TopologyException: The numbers differ.
        """
        for group in self._copartitioned:
            topics = {topic for source in group for topic in self._topics_of(source)}
            counts = {topic: self._internal_topics.get(topic) for topic in sorted(topics)}
            if topics and None not in counts.values() and len(set(counts.values())) > 1:
                shown = ", ".join(f"{topic}={count}" for topic, count in counts.items())
                raise TopologyException(f"Following topics do not have the same number of partitions: [{{{shown}}}]")

    # --- asked ------------------------------------------------------------------------------------------------------------

    def has_store(self, name: str) -> bool:
        return name in self._stores or name in self._global_stores

    def store_names(self) -> list[str]:
        """Return the names of all stores, global ones last."""
        return [*self._stores, *self._global_stores]

    def is_store_versioned(self, name: str) -> bool:
        return self._stores[name].changelog_kind is ChangelogKind.VERSIONED

    def history_retention(self, name: str) -> int:
        """Return the history retention of a versioned store, in ms."""
        return self._stores[name].retention_ms

    @property
    def global_stores(self) -> Mapping[str, GlobalStore]:
        return self._global_stores

    def node(self, name: str) -> NodeSpec:
        return self._nodes[name]

    def describe(self) -> TopologyDescription:
        """Describe the topology like Java's `Topology#describe`."""
        groups = self._groups.numbered(self._nodes)
        global_groups = {id for id, names in groups.items() if self._is_global(names)}
        return describe({id: [self._nodes[name] for name in names] for id, names in groups.items()}, global_groups)

    def copartition_groups(self, prefix: str) -> list[set[str]]:
        """Return groups of topics that need the same number of partitions; groups with a common topic are merged."""
        merged: dict[str, set[str]] = {}
        for group in self._copartitioned:
            topics = {self.full_name(topic, prefix) for source in group for topic in self._topics_of(source)}
            for topic in list(topics):
                topics |= merged.get(topic, set())
            merged.update(dict.fromkeys(topics, topics))
        return [set(topics) for topics in {frozenset(topics) for topics in merged.values()}]

    def internal_topics(self, prefix: str, additional_retention_ms: int) -> dict[str, InternalTopic]:
        """Return the application's internal topics.

        Args:
            prefix: Prefix of their names: `application.id`, unless configured otherwise.
            additional_retention_ms: `windowstore.changelog.additional.retention.ms`.
        """
        topics: dict[str, InternalTopic] = {}
        for subgraph in self.subgraphs(prefix):
            for topic in subgraph.repartition_topics & set(subgraph.source_topics):
                topics[topic] = repartition_topic(self._internal_topics[topic[len(prefix) + 1 :]])
            for store, topic in subgraph.changelogs.items():
                if topic not in subgraph.source_topics:
                    topics[topic] = changelog_topic(subgraph.stores[store], additional_retention_ms)
        return topics

    def subgraphs(self, prefix: str, matched: Collection[str] = ()) -> list[Subgraph]:
        """Return the sub-topologies that have tasks.

        Args:
            prefix: Prefix of internal topics.
            matched: Topics of the cluster that patterns of sources may match.
        """
        groups = self._groups.numbered(self._nodes)
        return [self.subgraph(id, names, prefix, matched) for id, names in groups.items() if not self._is_global(names)]

    def whole(self, prefix: str, matched: Collection[str] = ()) -> Subgraph:
        """Return all sub-topologies as one, for the TopologyTestDriver."""
        groups = self._groups.numbered(self._nodes)
        names = {name for group in groups.values() if not self._is_global(group) for name in group}
        return self.subgraph(0, names, prefix, matched)

    def subgraph(self, id: int, names: Collection[str], prefix: str, matched: Collection[str] = ()) -> Subgraph:
        """Return the part of the topology with these nodes."""
        nodes = [spec for name, spec in self._nodes.items() if name in names]
        source_topics: dict[str, str] = {}
        stores: dict[str, StoreFactory] = {}
        sinks: set[str] = set()
        for spec in nodes:
            if isinstance(spec, SourceSpec):
                source_topics.update({self.full_name(topic, prefix): spec.name for topic in _read(spec, matched)})
            elif isinstance(spec, ProcessorSpec):
                stores.update({name: self._stores[name] for name in hash_map_order(spec.stores) if name not in stores})
            elif isinstance(spec, SinkSpec) and isinstance(spec.topic, str):
                sinks.add(self.full_name(spec.topic, prefix))
        internal = {self.full_name(topic, prefix) for topic in self._internal_topics}
        repartition = internal & (sinks | set(source_topics))
        return Subgraph(id, nodes, stores, self._changelogs(stores, prefix), source_topics, sinks, repartition)

    def full_name(self, topic: str, prefix: str) -> str:
        """Return the full name of a topic: internal ones have the application's prefix."""
        return f"{prefix}-{topic}" if topic in self._internal_topics else topic

    # --- within -----------------------------------------------------------------------------------------------------------

    def _changelogs(self, stores: Mapping[str, StoreFactory], prefix: str) -> dict[str, str]:
        changelogs = {}
        for name, factory in stores.items():
            if name in self._source_changelogs:
                changelogs[name] = self.full_name(self._source_changelogs[name], prefix)
            elif factory.logging_enabled:
                changelogs[name] = f"{prefix}-{name}-changelog"
        return changelogs

    def _add(self, spec: NodeSpec) -> None:
        self._nodes[spec.name] = spec
        self._groups.add(spec.name, *spec.predecessors)

    def _connect(self, processor: str, store: str) -> None:
        if store in self._global_stores:
            raise TopologyException(
                f"Global StateStore {store} can be used by a Processor without being specified; "
                "it should not be explicitly passed."
            )
        if store not in self._stores:
            raise TopologyException(f"StateStore {store} is not added yet.")
        spec = self._nodes.get(processor)
        if spec is None:
            raise TopologyException(f"Processor {processor} is not added yet.")
        if not isinstance(spec, ProcessorSpec):
            raise TopologyException(f"cannot connect a state store {store} to a source node or a sink node.")
        users = self._users.setdefault(store, [])
        if users:
            self._groups.unite(users[0], processor)
        if processor not in users:
            users.append(processor)
        if store not in spec.stores:
            spec.stores.append(store)

    def _check_new(self, name: str) -> None:
        if name in self._nodes:
            raise TopologyException(f"Processor {name} is already added.")

    def _check_topic_free(self, topic: str) -> None:
        for spec in self._sources():
            if topic in spec.topics:
                raise TopologyException(f"Topic {topic} has already been registered by another source.")
            if spec.pattern is not None and spec.pattern.fullmatch(topic):
                raise TopologyException(f"Topic {topic} matches a Pattern already registered by another source.")

    def _check_pattern(self, pattern: re.Pattern[str]) -> None:
        if any(pattern.fullmatch(topic) for spec in self._sources() for topic in spec.topics):
            raise TopologyException(
                f"Pattern {pattern.pattern} will match a topic that has already been registered by another source."
            )

    def _sources(self) -> list[SourceSpec]:
        return [spec for spec in self._nodes.values() if isinstance(spec, SourceSpec)]

    def _topics_of(self, source: str) -> Sequence[str]:
        spec = self._nodes.get(source)
        return spec.topics if isinstance(spec, SourceSpec) else ()

    def _is_global(self, names: Iterable[str]) -> bool:
        sources = {one.source for one in self._global_stores.values()}
        return any(name in sources for name in names)


def _read(spec: SourceSpec, matched: Collection[str]) -> Sequence[str]:
    """Return the topics that a source reads: for a pattern the matching ones, or the pattern itself if none is
    known."""
    if spec.pattern is None:
        return spec.topics
    return [topic for topic in matched if spec.pattern.fullmatch(topic)] if matched else [spec.pattern.pattern]
