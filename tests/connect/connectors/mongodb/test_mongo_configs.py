"""Configs of the sink and the source that are refused, or have no effect."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from bson.decimal128 import Decimal128
from bson.int64 import Int64
from bson.objectid import ObjectId

from kafkapy.common.config_def import ConfigException
from kafkapy.connect.connectors.mongodb.event_formats import json_writer
from kafkapy.connect.connectors.mongodb.mongo_sink import MongoSinkConnector
from kafkapy.connect.connectors.mongodb.mongo_source import MongoSourceConnector
from kafkapy.connect.connectors.mongodb.projections import projection
from kafkapy.connect.connectors.mongodb.source_config import source_settings
from kafkapy.connect.plugins import Plugins, class_name_of


@pytest.mark.parametrize(
    ("configs", "names"),
    [
        ({"database": ""}, "database"),
        ({"connection.uri": "http://a"}, r"connection\.uri"),
        ({"timeseries.timefield": "at"}, "InsertOneDefaultStrategy"),
        ({"topic.override.t.timeseries.timefield": "at"}, "timeseries"),
        ({"change.data.capture.handler": "some.Handler"}, "ExtractNewRecordState"),
        ({"namespace.mapper": "a.FieldPathNamespaceMapper"}, "DefaultNamespaceMapper"),
        ({"writemodel.strategy": "my.Strategy"}, "Expected one of"),
        ({"document.id.strategy": "my.Strategy"}, "docs/connect_mongodb"),
        ({"document.id.strategy": "a.PartialKeyStrategy"}, "needs AllowList or BlockList"),
        ({"post.processor.chain": "a.RenameByMapping"}, "RenameByMapping"),
        ({"delete.on.null.values": "true"}, "FullKeyStrategy"),
        ({"topic.override.t.delete.on.null.values": "true"}, "FullKeyStrategy"),
        ({"topic.override.t.colection": "x"}, "no such config"),
        (
            {
                "value.projection.type": "AllowList",
                "value.projection.list": "a.*",
                "post.processor.chain": "a.AllowListValueProjector",
            },
            "Wildcards",
        ),
    ],
)
def test_wrong_configs_are_refused(configs: dict[str, str], names: str) -> None:
    with pytest.raises(ConfigException, match=names):
        MongoSinkConnector().start({"name": "a", "database": "d", **configs})


def test_configs_without_effect_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    given = {"name": "a", "database": "d", "rate.limiting.timeout": "5", "topic.override.t.collection": "c"}
    MongoSinkConnector().start(given)
    assert "rate.limiting.timeout" in caplog.text
    assert "topic.override" not in caplog.text


@pytest.mark.parametrize("kind", ["Sink", "Source"])
def test_connectors_are_found_by_their_names(kind: str) -> None:
    name = f"com.mongodb.kafka.connect.Mongo{kind}Connector"
    assert class_name_of(type(Plugins().new_connector(name))) == name


def test_projections_reach_into_arrays() -> None:
    document = {"a": [{"b": 1, "c": 2}, 3], "d": {"e": {"f": 4}}, "g": 5}
    keep = projection("ALLOWLIST", "a.b, d.e.f", "list")
    remove = projection("BlockList", "a.b,d.e,g", "list")
    assert keep is not None
    assert remove is not None
    assert keep(document) == {"a": [{"b": 1}, 3], "d": {"e": {"f": 4}}}
    assert remove(document) == {"a": [{"c": 2}, 3], "d": {}}
    assert projection("none", "a", "list") is None


@pytest.mark.parametrize(
    ("configs", "names"),
    [
        ({"collection": "c"}, "needs database"),
        ({"pipeline": "{}"}, "array of stages"),
        ({"pipeline": "[1]"}, "array of stages"),
        ({"pipeline": "["}, "Expected JSON"),
        ({"output.format.value": "schema"}, "schemas are not supported"),
        ({"output.json.formatter": "my.Formatter"}, "SimplifiedJson"),
        ({"change.stream.full.document": "always"}, "updateLookup"),
        ({"topic.namespace.map": '{"/a.*": "b"}'}, "Patterns"),
        ({"topic.namespace.map": "[]"}, "an object"),
        ({"startup.mode.copy.existing.namespace.regex": "("}, "regex"),
        ({"startup.mode.timestamp.start.at.operation.time": "noon"}, "seconds since 1970"),
        ({"connection.uri": "http://a"}, r"connection\.uri"),
    ],
)
def test_wrong_configs_of_the_source_are_refused(configs: dict[str, str], names: str) -> None:
    with pytest.raises(ConfigException, match=names):
        MongoSourceConnector().start({"name": "a", **configs})


@pytest.mark.parametrize(
    ("configs", "database", "collection", "topic"),
    [
        ({}, "d", "c", "d.c"),
        ({}, "d", "", "d"),
        ({"topic.prefix": "p", "topic.suffix": "s", "topic.separator": "_"}, "d", "c", "p_d_c_s"),
        ({"topic.namespace.map": '{"d.c": "x", "d": "y", "*": "z"}', "topic.prefix": "p"}, "d", "c", "p.x"),
        ({"topic.namespace.map": '{"d.c": "x", "d": "y", "*": "z"}'}, "d", "e", "y.e"),
        ({"topic.namespace.map": '{"d.c": "x", "d": "y", "*": "z"}'}, "f", "e", "z"),
    ],
)
def test_namespaces_have_topics(configs: dict[str, str], database: str, collection: str, topic: str) -> None:
    assert source_settings(configs).topic(database, collection) == topic


def test_formatters_write_json_as_javas() -> None:
    document = {
        "at": dt.datetime(2020, 1, 1, 0, 0, 0, 120_000, dt.UTC),
        "id": ObjectId("0" * 24),
        "n": Int64(5),
        "price": Decimal128("2.50"),
        "data": b"ab",
    }
    assert json.loads(json_writer("SimplifiedJson")(document)) == {
        "at": "2020-01-01T00:00:00.12Z",
        "id": "0" * 24,
        "n": 5,
        "price": "2.50",
        "data": "YWI=",
    }
    assert json.loads(json_writer("DefaultJson")(document)) == {
        "at": {"$date": 1577836800120},
        "id": {"$oid": "0" * 24},
        "n": {"$numberLong": "5"},
        "price": {"$numberDecimal": "2.50"},
        "data": {"$binary": "YWI=", "$type": "00"},
    }
    extended = json.loads(json_writer("ExtendedJson")(document))
    assert extended["at"] == {"$date": {"$numberLong": "1577836800120"}}
    assert extended["data"] == {"$binary": {"base64": "YWI=", "subType": "00"}}
