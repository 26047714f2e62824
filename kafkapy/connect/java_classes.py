"""Names of the plugins that come with Connect: Kafka's, other vendors', and kafkapy's own."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

KAFKA: Final = "org.apache.kafka.connect."
"""The Java package of all of them."""
VERSION: Final = "3.9.1"
"""The version of Kafka's that they show."""
_KAFKA: Final = KAFKA
_POSTGRESQL: Final = "io.debezium.connector.postgresql."
_MYSQL: Final = "io.debezium.connector.mysql."
_MARIADB: Final = "io.debezium.connector.mariadb."
_HERE: Final = "kafkapy.connect."

_CONNECTORS: Final = {
    f"{_KAFKA}file.FileStreamSinkConnector": "connectors.file.file_stream_sink:FileStreamSinkConnector",
    f"{_KAFKA}file.FileStreamSourceConnector": "connectors.file.file_stream_source:FileStreamSourceConnector",
    f"{_POSTGRESQL}PostgresConnector": "connectors.postgresql.source_connector:PostgresConnector",
    f"{_MYSQL}MySqlConnector": "connectors.mysql.source_connector:MySqlConnector",
    f"{_MARIADB}MariaDbConnector": "connectors.mysql.source_connector:MariaDbConnector",
}

_OBJECTS: Final = {
    "kafkapy.connect.ObjectSink": "ObjectSink",
    "io.confluent.connect.s3.S3Sink": "S3Sink",
    "io.confluent.connect.gcs.GcsSink": "GcsSink",
    "io.confluent.connect.azure.blob.AzureBlobStorageSink": "AzureBlobStorageSink",
    "io.confluent.connect.hdfs3.Hdfs3Sink": "Hdfs3Sink",
}
_MONGODB: Final = {
    "com.mongodb.kafka.connect.MongoSinkConnector": "connectors.mongodb.mongo_sink:MongoSinkConnector",
    "com.mongodb.kafka.connect.MongoSourceConnector": "connectors.mongodb.mongo_source:MongoSourceConnector",
    "com.mongodb.kafka.connect.source.MongoSourceTask": "connectors.mongodb.mongo_source:MongoSourceTask",
    "com.mongodb.kafka.connect.sink.MongoSinkTask": "connectors.mongodb.mongo_sink:MongoSinkTask",
}
_SQL: Final = {
    "io.confluent.connect.jdbc.JdbcSourceConnector": "connectors.sql.sql_source:JdbcSourceConnector",
    "io.confluent.connect.jdbc.source.JdbcSourceTask": "connectors.sql.sql_source:JdbcSourceTask",
    "io.confluent.connect.jdbc.JdbcSinkConnector": "connectors.sql.sql_sink:JdbcSinkConnector",
    "io.confluent.connect.jdbc.sink.JdbcSinkTask": "connectors.sql.sql_sink:JdbcSinkTask",
}
_OTHERS: Final = {
    **{
        f"{java}{kind}": f"connectors.objects.object_sink:{name}{kind}"
        for kind in ("Connector", "Task")
        for java, name in _OBJECTS.items()
    },
    **{
        f"{java}{kind}": f"connectors.objects.object_source:{name}{kind}"
        for kind in ("Connector", "Task")
        for java, name in (
            ("kafkapy.connect.ObjectSource", "ObjectSource"),
            ("io.confluent.connect.s3.source.S3Source", "S3Source"),
        )
    },
    **{
        f"io.confluent.connect.http.Http{name}": f"connectors.http.http_{module}:Http{name}"
        for module, side in (("sink", "Sink"), ("source", "Source"))
        for name in (f"{side}Connector", f"{side}Task")
    },
    **{
        f"{java}{kind}": f"connectors.redis.{place}{kind}"
        for kind in ("Connector", "Task")
        for java, place in (
            ("com.github.jcustenborder.kafka.connect.redis.RedisSink", "redis_sink:RedisStringSink"),
            ("com.redis.kafka.connect.RedisSink", "redis_sink:RedisTypedSink"),
            ("com.redis.kafka.connect.RedisStreamSource", "redis_stream_source:RedisStreamSource"),
        )
    },
    **{
        f"{java}{kind}": f"connectors.opensearch.search_sink:{java.rpartition('.')[2]}{kind}"
        for kind in ("Connector", "Task")
        for java in (
            "io.aiven.kafka.connect.opensearch.OpensearchSink",
            "io.confluent.connect.elasticsearch.ElasticsearchSink",
        )
    },
    **_MONGODB,
    **_SQL,
    **{
        f"kafkapy.connect.{place}{kind}": f"connectors.rotated.{module}:{place}{kind}"
        for kind in ("Connector", "Task")
        for module, place in (("glob_source", "FileGlobSource"), ("rotating_sink", "FileRotatingSink"))
    },
}
"""Connectors of others and of kafkapy's own, and their tasks."""

_TASKS: Final = {
    f"{_KAFKA}file.FileStreamSinkTask": "connectors.file.file_stream_sink:FileStreamSinkTask",
    f"{_KAFKA}file.FileStreamSourceTask": "connectors.file.file_stream_source:FileStreamSourceTask",
    f"{_POSTGRESQL}PostgresConnectorTask": "connectors.postgresql.source_connector:PostgresConnectorTask",
    f"{_MYSQL}MySqlConnectorTask": "connectors.mysql.source_connector:MySqlConnectorTask",
    f"{_MARIADB}MariaDbConnectorTask": "connectors.mysql.source_connector:MariaDbConnectorTask",
}

_MIRROR: Final = {
    f"{_KAFKA}mirror.{name}": f"kafkapy.mirror.{module}:{name}"
    for name, module in (
        ("MirrorCheckpointConnector", "checkpoint_connector"),
        ("MirrorHeartbeatConnector", "heartbeat_connector"),
        ("MirrorSourceConnector", "source_connector"),
        ("MirrorCheckpointTask", "checkpoint_task"),
        ("MirrorHeartbeatTask", "heartbeat_connector"),
        ("MirrorSourceTask", "source_task"),
    )
}
"""MirrorMaker's are in a package above this one: they are imported by path when a worker needs them."""
MIRROR_CONNECTORS: Final = tuple(name for name in _MIRROR if name.endswith("Connector"))
"""Kafka's names of MirrorMaker's connectors."""

_CONVERTERS: Final = {
    f"{_KAFKA}json.JsonConverter": "converters.json_converter:JsonConverter",
    f"{_KAFKA}storage.StringConverter": "converters.string_converter:StringConverter",
    f"{_KAFKA}storage.SimpleHeaderConverter": "converters.simple_header_converter:SimpleHeaderConverter",
    f"{_KAFKA}converters.ByteArrayConverter": "converters.byte_array_converter:ByteArrayConverter",
    **{
        f"{_KAFKA}converters.{name}Converter": f"converters.number_converters:{name}Converter"
        for name in ("Boolean", "Short", "Integer", "Long", "Float", "Double")
    },
}

_SIDED: Final = {
    "Cast": "cast",
    "ExtractField": "extract_field",
    "Flatten": "flatten",
    "HeaderFrom": "header_from",
    "HoistField": "hoist_field",
    "InsertField": "insert_field",
    "MaskField": "mask_field",
    "ReplaceField": "replace_field",
    "SetSchemaMetadata": "set_schema_metadata",
    "TimestampConverter": "timestamp_converter",
}
_TRANSFORMS: Final = {
    **{
        f"{_KAFKA}transforms.{name}${side}": f"transforms.{module}:{name}On{side}"
        for name, module in _SIDED.items()
        for side in ("Key", "Value")
    },
    f"{_KAFKA}transforms.DropHeaders": "transforms.header_transforms:DropHeaders",
    f"{_KAFKA}transforms.Filter": "transforms.header_transforms:FilterRecords",
    f"{_KAFKA}transforms.InsertHeader": "transforms.header_transforms:InsertHeader",
    f"{_KAFKA}transforms.RegexRouter": "transforms.routers:RegexRouter",
    f"{_KAFKA}transforms.TimestampRouter": "transforms.routers:TimestampRouter",
    f"{_KAFKA}transforms.ValueToKey": "transforms.value_to_key:ValueToKey",
}
_PREDICATES: Final = {
    f"{_KAFKA}transforms.predicates.{name}": f"transforms.predicates:{name}"
    for name in ("HasHeaderKey", "RecordIsTombstone", "TopicNameMatches")
}

FOREIGN: Final = {
    "io.confluent.connect.avro.AvroConverter": "converters.avro.avro_converter:AvroConverter",
    "io.confluent.connect.json.JsonSchemaConverter": "converters.jsonschema.json_schema_converter:JsonSchemaConverter",
    "io.confluent.connect.protobuf.ProtobufConverter": "converters.protobuf.protobuf_converter:ProtobufConverter",
    "io.debezium.transforms.ByLogicalTableRouter": "transforms.debezium.by_logical_table_router:ByLogicalTableRouter",
    "io.debezium.transforms.ExtractNewRecordState": "transforms.debezium.extract_new_record_state:ExtractNewRecordState",
    "io.debezium.transforms.outbox.EventRouter": "transforms.debezium.event_router:EventRouter",
    "kafkapy.connect.transforms.Expression": "transforms.expressions.expression_transform:ExpressionTransform",
    "kafkapy.connect.transforms.Function": "transforms.function_transform:FunctionTransform",
}
"""Converters of Confluent's, transforms of Debezium's and of kafkapy's own."""

CONVERTERS: Final = tuple(name for name in _CONVERTERS if "SimpleHeader" not in name)
"""Kafka's names of the converters of keys and values; each is a header converter, too."""
HEADER_CONVERTERS: Final = tuple(_CONVERTERS)
"""Kafka's names of the converters of headers."""
TRANSFORMS: Final = tuple(_TRANSFORMS)
"""Kafka's names of the transforms."""
PREDICATES: Final = tuple(_PREDICATES)
"""Kafka's names of the predicates."""
_OTHER_CONNECTORS: Final = tuple(name for name in _OTHERS if name.endswith("Connector"))
ALL: Final = (*_CONNECTORS, *_OTHER_CONNECTORS, *MIRROR_CONNECTORS, *_CONVERTERS, *_TRANSFORMS, *_PREDICATES, *FOREIGN)
"""The names of all plugins."""


def class_of(name: str) -> type[Any]:
    """Return the Python class for one of the names.

    Args:
        name: Full Java name.

    Raises:
        LookupError: There is none.

    Example:
        >>> class_of("org.apache.kafka.connect.storage.StringConverter").__name__
        'StringConverter'
    """
    place = {
        **_CONNECTORS,
        **_OTHERS,
        **_TASKS,
        **_MIRROR,
        **_CONVERTERS,
        **_TRANSFORMS,
        **_PREDICATES,
        **FOREIGN,
    }.get(name)
    if place is None:
        raise LookupError(f"No class stands for {name}")
    module, _, attribute = place.partition(":")
    found: type[Any] = getattr(import_module(module if module.startswith("kafkapy.") else _HERE + module), attribute)
    return found
