"""Kafka Streams in Python: the same topology gives the same topics as in Java, record for record and byte for byte."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.streams import errors as errors
    from kafkapy.streams.dsl.face import BranchedKStream as BranchedKStream
    from kafkapy.streams.dsl.face import CogroupedKStream as CogroupedKStream
    from kafkapy.streams.dsl.face import GlobalKTable as GlobalKTable
    from kafkapy.streams.dsl.face import KGroupedStream as KGroupedStream
    from kafkapy.streams.dsl.face import KGroupedTable as KGroupedTable
    from kafkapy.streams.dsl.face import KStream as KStream
    from kafkapy.streams.dsl.face import KTable as KTable
    from kafkapy.streams.dsl.face import SessionWindowedCogroupedKStream as SessionWindowedCogroupedKStream
    from kafkapy.streams.dsl.face import SessionWindowedKStream as SessionWindowedKStream
    from kafkapy.streams.dsl.face import TimeWindowedCogroupedKStream as TimeWindowedCogroupedKStream
    from kafkapy.streams.dsl.face import TimeWindowedKStream as TimeWindowedKStream
    from kafkapy.streams.dsl.streams_builder import StreamsBuilder as StreamsBuilder
    from kafkapy.streams.errors import InvalidStateStoreException as InvalidStateStoreException
    from kafkapy.streams.errors import ProcessorStateException as ProcessorStateException
    from kafkapy.streams.errors import StreamsException as StreamsException
    from kafkapy.streams.errors import TaskCorruptedException as TaskCorruptedException
    from kafkapy.streams.errors import TopologyException as TopologyException
    from kafkapy.streams.exception_handlers import DeadLetterRecord as DeadLetterRecord
    from kafkapy.streams.exception_handlers import (
        DefaultProductionExceptionHandler as DefaultProductionExceptionHandler,
    )
    from kafkapy.streams.exception_handlers import DeserializationExceptionHandler as DeserializationExceptionHandler
    from kafkapy.streams.exception_handlers import ErrorHandlerContext as ErrorHandlerContext
    from kafkapy.streams.exception_handlers import ErrorHandlerResponse as ErrorHandlerResponse
    from kafkapy.streams.exception_handlers import HandlerResponse as HandlerResponse
    from kafkapy.streams.exception_handlers import LogAndContinueExceptionHandler as LogAndContinueExceptionHandler
    from kafkapy.streams.exception_handlers import (
        LogAndContinueProcessingExceptionHandler as LogAndContinueProcessingExceptionHandler,
    )
    from kafkapy.streams.exception_handlers import LogAndFailExceptionHandler as LogAndFailExceptionHandler
    from kafkapy.streams.exception_handlers import (
        LogAndFailProcessingExceptionHandler as LogAndFailProcessingExceptionHandler,
    )
    from kafkapy.streams.exception_handlers import ProcessingExceptionHandler as ProcessingExceptionHandler
    from kafkapy.streams.exception_handlers import ProductionExceptionHandler as ProductionExceptionHandler
    from kafkapy.streams.exception_handlers import StreamThreadExceptionResponse as StreamThreadExceptionResponse
    from kafkapy.streams.offset_reset import AutoOffsetReset as AutoOffsetReset
    from kafkapy.streams.options.branched import Branched as Branched
    from kafkapy.streams.options.consumed import Consumed as Consumed
    from kafkapy.streams.options.emit_strategy import EmitStrategy as EmitStrategy
    from kafkapy.streams.options.grouped import Grouped as Grouped
    from kafkapy.streams.options.joined import Joined as Joined
    from kafkapy.streams.options.materialized import Materialized as Materialized
    from kafkapy.streams.options.named import Named as Named
    from kafkapy.streams.options.produced import Produced as Produced
    from kafkapy.streams.options.repartitioned import Repartitioned as Repartitioned
    from kafkapy.streams.options.store_type import StoreType as StoreType
    from kafkapy.streams.options.stream_joined import StreamJoined as StreamJoined
    from kafkapy.streams.options.suppressed import BufferConfig as BufferConfig
    from kafkapy.streams.options.suppressed import Suppressed as Suppressed
    from kafkapy.streams.options.table_joined import TableJoined as TableJoined
    from kafkapy.streams.processor import Cancellable as Cancellable
    from kafkapy.streams.processor import Duration as Duration
    from kafkapy.streams.processor import FixedKeyProcessor as FixedKeyProcessor
    from kafkapy.streams.processor import Processor as Processor
    from kafkapy.streams.processor import ProcessorContext as ProcessorContext
    from kafkapy.streams.processor import PunctuationType as PunctuationType
    from kafkapy.streams.processor import ValueTransformerWithKey as ValueTransformerWithKey
    from kafkapy.streams.queries.position import Position as Position
    from kafkapy.streams.queries.position import PositionBound as PositionBound
    from kafkapy.streams.queries.queries import KeyQuery as KeyQuery
    from kafkapy.streams.queries.queries import MultiVersionedKeyQuery as MultiVersionedKeyQuery
    from kafkapy.streams.queries.queries import Query as Query
    from kafkapy.streams.queries.queries import RangeQuery as RangeQuery
    from kafkapy.streams.queries.queries import TimestampedKeyQuery as TimestampedKeyQuery
    from kafkapy.streams.queries.queries import TimestampedRangeQuery as TimestampedRangeQuery
    from kafkapy.streams.queries.queries import VersionedKeyQuery as VersionedKeyQuery
    from kafkapy.streams.queries.queries import WindowKeyQuery as WindowKeyQuery
    from kafkapy.streams.queries.queries import WindowRangeQuery as WindowRangeQuery
    from kafkapy.streams.queries.read_only_stores import ReadOnlyKeyValueStore as ReadOnlyKeyValueStore
    from kafkapy.streams.queries.read_only_stores import ReadOnlySessionStore as ReadOnlySessionStore
    from kafkapy.streams.queries.read_only_stores import ReadOnlyWindowStore as ReadOnlyWindowStore
    from kafkapy.streams.queries.state_query import FailureReason as FailureReason
    from kafkapy.streams.queries.state_query import QueryResult as QueryResult
    from kafkapy.streams.queries.state_query import StateQueryRequest as StateQueryRequest
    from kafkapy.streams.queries.state_query import StateQueryResult as StateQueryResult
    from kafkapy.streams.queries.store_query import QueryableStoreType as QueryableStoreType
    from kafkapy.streams.queries.store_query import QueryableStoreTypes as QueryableStoreTypes
    from kafkapy.streams.queries.store_query import StoreQueryParameters as StoreQueryParameters
    from kafkapy.streams.queries.streams_metadata import KeyQueryMetadata as KeyQueryMetadata
    from kafkapy.streams.queries.streams_metadata import StreamsMetadata as StreamsMetadata
    from kafkapy.streams.records import FixedKeyRecord as FixedKeyRecord
    from kafkapy.streams.records import Headers as Headers
    from kafkapy.streams.records import Record as Record
    from kafkapy.streams.records import RecordMetadata as RecordMetadata
    from kafkapy.streams.records import ValueAndTimestamp as ValueAndTimestamp
    from kafkapy.streams.records import VersionedRecord as VersionedRecord
    from kafkapy.streams.records import Window as Window
    from kafkapy.streams.records import Windowed as Windowed
    from kafkapy.streams.runtime.changelog_reader import StateRestoreListener as StateRestoreListener
    from kafkapy.streams.runtime.kafka_streams import KafkaStreams as KafkaStreams
    from kafkapy.streams.runtime.kafka_streams import LagInfo as LagInfo
    from kafkapy.streams.serdes import Deserializer as Deserializer
    from kafkapy.streams.serdes import Serde as Serde
    from kafkapy.streams.serdes import Serdes as Serdes
    from kafkapy.streams.serdes import Serializer as Serializer
    from kafkapy.streams.state.state_store import KeyValueStore as KeyValueStore
    from kafkapy.streams.state.state_store import SessionStore as SessionStore
    from kafkapy.streams.state.state_store import StateStore as StateStore
    from kafkapy.streams.state.state_store import TimestampedKeyValueStore as TimestampedKeyValueStore
    from kafkapy.streams.state.state_store import TimestampedWindowStore as TimestampedWindowStore
    from kafkapy.streams.state.state_store import VersionedKeyValueStore as VersionedKeyValueStore
    from kafkapy.streams.state.state_store import WindowStore as WindowStore
    from kafkapy.streams.state.store_builders import StoreBuilder as StoreBuilder
    from kafkapy.streams.state.store_suppliers import StoreSupplier as StoreSupplier
    from kafkapy.streams.state.stores import Stores as Stores
    from kafkapy.streams.state.windowed_serdes import SessionWindowedSerde as SessionWindowedSerde
    from kafkapy.streams.state.windowed_serdes import TimeWindowedSerde as TimeWindowedSerde
    from kafkapy.streams.timestamps import FailOnInvalidTimestamp as FailOnInvalidTimestamp
    from kafkapy.streams.timestamps import LogAndSkipOnInvalidTimestamp as LogAndSkipOnInvalidTimestamp
    from kafkapy.streams.timestamps import TimestampExtractor as TimestampExtractor
    from kafkapy.streams.timestamps import UsePartitionTimeOnInvalidTimestamp as UsePartitionTimeOnInvalidTimestamp
    from kafkapy.streams.timestamps import WallclockTimestampExtractor as WallclockTimestampExtractor
    from kafkapy.streams.topology.description import TopologyDescription as TopologyDescription
    from kafkapy.streams.topology.internal_topics import InternalTopic as InternalTopic
    from kafkapy.streams.topology.topology import Topology as Topology
    from kafkapy.streams.type_serdes import JsonSerde as JsonSerde
    from kafkapy.streams.type_serdes import serde_of as serde_of
    from kafkapy.streams.windows import JoinWindows as JoinWindows
    from kafkapy.streams.windows import SessionWindows as SessionWindows
    from kafkapy.streams.windows import SlidingWindows as SlidingWindows
    from kafkapy.streams.windows import TimeWindows as TimeWindows
    from kafkapy.streams.windows import UnlimitedWindows as UnlimitedWindows
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "dsl.face": (
                "BranchedKStream CogroupedKStream GlobalKTable KGroupedStream KGroupedTable KStream KTable "
                "SessionWindowedCogroupedKStream SessionWindowedKStream TimeWindowedCogroupedKStream "
                "TimeWindowedKStream"
            ),
            "dsl.streams_builder": "StreamsBuilder",
            "errors": (
                "InvalidStateStoreException ProcessorStateException StreamsException TaskCorruptedException "
                "TopologyException errors"
            ),
            "exception_handlers": (
                "DeadLetterRecord ErrorHandlerResponse StreamThreadExceptionResponse "
                "DefaultProductionExceptionHandler DeserializationExceptionHandler ErrorHandlerContext "
                "HandlerResponse LogAndContinueExceptionHandler LogAndContinueProcessingExceptionHandler "
                "LogAndFailExceptionHandler LogAndFailProcessingExceptionHandler ProcessingExceptionHandler "
                "ProductionExceptionHandler"
            ),
            "offset_reset": "AutoOffsetReset",
            "options.branched": "Branched",
            "options.consumed": "Consumed",
            "options.emit_strategy": "EmitStrategy",
            "options.grouped": "Grouped",
            "options.joined": "Joined",
            "options.materialized": "Materialized",
            "options.named": "Named",
            "options.produced": "Produced",
            "options.repartitioned": "Repartitioned",
            "options.store_type": "StoreType",
            "options.stream_joined": "StreamJoined",
            "options.suppressed": "BufferConfig Suppressed",
            "options.table_joined": "TableJoined",
            "processor": (
                "Cancellable Duration FixedKeyProcessor Processor ProcessorContext PunctuationType "
                "ValueTransformerWithKey"
            ),
            "queries.position": "Position PositionBound",
            "queries.queries": (
                "KeyQuery MultiVersionedKeyQuery Query RangeQuery TimestampedKeyQuery TimestampedRangeQuery "
                "VersionedKeyQuery WindowKeyQuery WindowRangeQuery"
            ),
            "queries.state_query": "FailureReason QueryResult StateQueryRequest StateQueryResult",
            "queries.read_only_stores": "ReadOnlyKeyValueStore ReadOnlySessionStore ReadOnlyWindowStore",
            "queries.store_query": "QueryableStoreType QueryableStoreTypes StoreQueryParameters",
            "queries.streams_metadata": "KeyQueryMetadata StreamsMetadata",
            "records": (
                "FixedKeyRecord Headers Record RecordMetadata ValueAndTimestamp VersionedRecord Window Windowed"
            ),
            "runtime.changelog_reader": "StateRestoreListener",
            "runtime.kafka_streams": "KafkaStreams LagInfo",
            "serdes": "Deserializer Serde Serdes Serializer",
            "state.state_store": (
                "KeyValueStore SessionStore StateStore TimestampedKeyValueStore TimestampedWindowStore "
                "VersionedKeyValueStore WindowStore"
            ),
            "state.store_builders": "StoreBuilder",
            "state.store_suppliers": "StoreSupplier",
            "state.stores": "Stores",
            "state.windowed_serdes": "SessionWindowedSerde TimeWindowedSerde",
            "timestamps": (
                "FailOnInvalidTimestamp LogAndSkipOnInvalidTimestamp TimestampExtractor "
                "UsePartitionTimeOnInvalidTimestamp WallclockTimestampExtractor"
            ),
            "topology.description": "TopologyDescription",
            "topology.internal_topics": "InternalTopic",
            "topology.topology": "Topology",
            "type_serdes": "JsonSerde serde_of",
            "windows": "JoinWindows SessionWindows SlidingWindows TimeWindows UnlimitedWindows",
        },
    )
