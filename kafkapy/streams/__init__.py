"""Kafka Streams in Python: the same topology gives the same topics as in Java, record for record and byte for byte."""

from __future__ import annotations

from kafkapy.streams import errors as errors
from kafkapy.streams.dsl.face import (
    BranchedKStream,
    CogroupedKStream,
    GlobalKTable,
    KGroupedStream,
    KGroupedTable,
    KStream,
    KTable,
    SessionWindowedCogroupedKStream,
    SessionWindowedKStream,
    TimeWindowedCogroupedKStream,
    TimeWindowedKStream,
)
from kafkapy.streams.dsl.streams_builder import StreamsBuilder
from kafkapy.streams.errors import (
    InvalidStateStoreException,
    ProcessorStateException,
    StreamsException,
    TaskCorruptedException,
    TopologyException,
)
from kafkapy.streams.exception_handlers import (
    DefaultProductionExceptionHandler,
    DeserializationExceptionHandler,
    ErrorHandlerContext,
    HandlerResponse,
    LogAndContinueExceptionHandler,
    LogAndContinueProcessingExceptionHandler,
    LogAndFailExceptionHandler,
    LogAndFailProcessingExceptionHandler,
    ProcessingExceptionHandler,
    ProductionExceptionHandler,
)
from kafkapy.streams.offset_reset import AutoOffsetReset
from kafkapy.streams.options.branched import Branched
from kafkapy.streams.options.consumed import Consumed
from kafkapy.streams.options.emit_strategy import EmitStrategy
from kafkapy.streams.options.grouped import Grouped
from kafkapy.streams.options.joined import Joined
from kafkapy.streams.options.materialized import Materialized
from kafkapy.streams.options.named import Named
from kafkapy.streams.options.produced import Produced
from kafkapy.streams.options.repartitioned import Repartitioned
from kafkapy.streams.options.store_type import StoreType
from kafkapy.streams.options.stream_joined import StreamJoined
from kafkapy.streams.options.suppressed import BufferConfig, Suppressed
from kafkapy.streams.options.table_joined import TableJoined
from kafkapy.streams.processor import (
    Cancellable,
    Duration,
    FixedKeyProcessor,
    Processor,
    ProcessorContext,
    PunctuationType,
    ValueTransformerWithKey,
)
from kafkapy.streams.records import (
    FixedKeyRecord,
    Headers,
    Record,
    RecordMetadata,
    ValueAndTimestamp,
    VersionedRecord,
    Window,
    Windowed,
)
from kafkapy.streams.runtime.kafka_streams import KafkaStreams
from kafkapy.streams.serdes import Deserializer, Serde, Serdes, Serializer
from kafkapy.streams.state.state_store import (
    KeyValueStore,
    SessionStore,
    StateStore,
    TimestampedKeyValueStore,
    TimestampedWindowStore,
    VersionedKeyValueStore,
    WindowStore,
)
from kafkapy.streams.state.store_builders import StoreBuilder
from kafkapy.streams.state.store_suppliers import StoreSupplier
from kafkapy.streams.state.stores import Stores
from kafkapy.streams.state.windowed_serdes import SessionWindowedSerde, TimeWindowedSerde
from kafkapy.streams.timestamps import (
    FailOnInvalidTimestamp,
    LogAndSkipOnInvalidTimestamp,
    TimestampExtractor,
    UsePartitionTimeOnInvalidTimestamp,
    WallclockTimestampExtractor,
)
from kafkapy.streams.topology.description import TopologyDescription
from kafkapy.streams.topology.internal_topics import InternalTopic
from kafkapy.streams.topology.topology import Topology
from kafkapy.streams.type_serdes import JsonSerde, serde_of
from kafkapy.streams.windows import JoinWindows, SessionWindows, SlidingWindows, TimeWindows, UnlimitedWindows

__all__ = [
    "AutoOffsetReset",
    "Branched",
    "BranchedKStream",
    "BufferConfig",
    "Cancellable",
    "CogroupedKStream",
    "Consumed",
    "DefaultProductionExceptionHandler",
    "DeserializationExceptionHandler",
    "Deserializer",
    "Duration",
    "EmitStrategy",
    "ErrorHandlerContext",
    "FailOnInvalidTimestamp",
    "FixedKeyProcessor",
    "FixedKeyRecord",
    "GlobalKTable",
    "Grouped",
    "HandlerResponse",
    "Headers",
    "InternalTopic",
    "InvalidStateStoreException",
    "JoinWindows",
    "Joined",
    "JsonSerde",
    "KGroupedStream",
    "KGroupedTable",
    "KStream",
    "KTable",
    "KafkaStreams",
    "KeyValueStore",
    "LogAndContinueExceptionHandler",
    "LogAndContinueProcessingExceptionHandler",
    "LogAndFailExceptionHandler",
    "LogAndFailProcessingExceptionHandler",
    "LogAndSkipOnInvalidTimestamp",
    "Materialized",
    "Named",
    "ProcessingExceptionHandler",
    "Processor",
    "ProcessorContext",
    "ProcessorStateException",
    "Produced",
    "ProductionExceptionHandler",
    "PunctuationType",
    "Record",
    "RecordMetadata",
    "Repartitioned",
    "Serde",
    "Serdes",
    "Serializer",
    "SessionStore",
    "SessionWindowedCogroupedKStream",
    "SessionWindowedKStream",
    "SessionWindowedSerde",
    "SessionWindows",
    "SlidingWindows",
    "StateStore",
    "StoreBuilder",
    "StoreSupplier",
    "StoreType",
    "Stores",
    "StreamJoined",
    "StreamsBuilder",
    "StreamsException",
    "Suppressed",
    "TableJoined",
    "TaskCorruptedException",
    "TimeWindowedCogroupedKStream",
    "TimeWindowedKStream",
    "TimeWindowedSerde",
    "TimeWindows",
    "TimestampExtractor",
    "TimestampedKeyValueStore",
    "TimestampedWindowStore",
    "Topology",
    "TopologyDescription",
    "TopologyException",
    "UnlimitedWindows",
    "UsePartitionTimeOnInvalidTimestamp",
    "ValueAndTimestamp",
    "ValueTransformerWithKey",
    "VersionedKeyValueStore",
    "VersionedRecord",
    "WallclockTimestampExtractor",
    "Window",
    "WindowStore",
    "Windowed",
    "errors",
    "serde_of",
]
