"""Requests to every endpoint of the proxy with one thing odd in each: a value of the body, a part of the path, a parameter.

The same seed gives the same requests. `ODD` are texts that stand in the place of a JSON value; some are no JSON.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any, NamedTuple
from urllib.parse import quote

V2 = "application/vnd.kafka.v2+json"
ODD = [
    *("null", "true", "false", '""', '"x"', "[]", "{}", "[null]", "[[]]", '{"": null}', '{"name": 5}', '["\\u0000"]'),
    *(
        "0",
        "-0",
        "-1",
        "1.0",
        "1.5",
        "1e3",
        "1e400",
        "-1e400",
        "NaN",
        "Infinity",
        "-Infinity",
        "٣",
        "+1",
        "1_0",
        "0x10",
    ),
    *(str(2**power + step) for power in (15, 16, 31, 32, 40, 53, 63, 64, 200) for step in (-1, 0)),
    *(f"-{2**power}" for power in (15, 31, 32, 63, 64)),
    *("9" * 4000, "9" * 5000, "10000000000000000000000", "253402300800000"),
    *(
        '"²"',
        '"٣"',
        '" 1"',
        '"1 "',
        '"+1"',
        '"-1"',
        '"1_0"',
        '"1e3"',
        '"1.0"',
        '"9999999999"',
        '"99999999999999999999"',
    ),
    *(r'"\ud83d"', r'"\ude80\ud83d"', r'"\ud83d\ude80"', '"🚀"', r'"\u0000"', r'"\u2028"', '"' + "n" * 300 + '"'),
    *(
        '"eA=="',
        '"eA"',
        '"no base64!"',
        '"2020-01-01T00:00:00Z"',
        '"0001-01-01T00:00:00+14:00"',
        '"9999-12-31T23:59:59.999Z"',
    ),
    *('"2020-01-01"', '"2020-02-30T00:00:00Z"', "[" * 900 + "]" * 900, '{"a":' * 900 + "1" + "}" * 900, "[" * 100_000),
    *('{"a":1,"a":2}', "{", "'x'", "\ufeff1", '"\x01"', "1 2", "nul", '{"type":"record"}', '"[a-"', '"a{99999999999}"'),
]
ODD_TEXTS = [
    *("²", "٣", " 1", "+1", "-1", "1_0", "1e3", "1.0", "0x10", "", "null", "NaN", "2147483648", "9223372036854775808"),
    *(
        "9" * 300,
        "9" * 5000,
        "a b",
        "..",
        "é",
        "\x00",
        "🚀",
    ),
    *("n" * 300, "%", "a/b", "-", "__consumer_offsets", "0"),
]
_AVRO = '{"type":"record","name":"R","fields":[{"name":"n","type":"int"},{"name":"u","type":["null","double"]}]}'


class OddRequest(NamedTuple):
    method: str
    target: str
    kind: str
    body: bytes


class _Endpoint(NamedTuple):
    """`path`: its parts. `query`: its parameters. `body`: a good one."""

    method: str
    path: tuple[str, ...]
    body: Any = None
    kind: str = V2
    query: tuple[str, ...] = ()


def endpoints(cluster: str, topic: str, instance: tuple[str, str], with_schemas: bool) -> list[_Endpoint]:
    row = {"topic": topic, "partition": 0, "offset": 0, "metadata": "m"}
    header = {"name": "h", "value": "eA=="}
    one = ("consumers", instance[0], "instances", instance[1])
    v3 = ("v3", "clusters", cluster)
    config = {"name": "retention.ms", "value": "5000", "operation": "SET"}
    record = {"key": None, "value": "eA==", "partition": 0, "timestamp": 1_700_000_000_000, "headers": [header]}
    found = [
        _Endpoint("POST", ("topics", topic), {"records": [record]}, "application/vnd.kafka.binary.v2+json"),
        _Endpoint("POST", ("topics", topic, "partitions", "0"), {"records": [{"value": "eA=="}]}),
        _Endpoint(
            "POST", ("topics", topic), {"records": [{"value": {"a": [1]}}]}, "application/vnd.kafka.json.v2+json"
        ),
        _Endpoint("GET", ("topics", topic)),
        _Endpoint("GET", ("topics", topic, "partitions", "0")),
        _Endpoint("GET", ("topics", topic, "partitions", "0", "offsets")),
        _Endpoint("POST", ("consumers", "odd"), {"name": instance[1], "format": "binary", "fetch.min.bytes": 1}),
        _Endpoint("POST", ("consumers", "odd"), {"name": instance[1], "consumer.request.timeout.ms": "9"}),
        _Endpoint("POST", ("consumers", "odd"), {"name": instance[1], "auto.commit.enable": "true", "id": "i"}),
        _Endpoint("POST", (*one, "assignments"), {"partitions": [row]}),
        _Endpoint("POST", (*one, "offsets"), {"offsets": [row]}),
        _Endpoint("GET", (*one, "offsets"), {"partitions": [row]}),
        _Endpoint("POST", (*one, "positions"), {"offsets": [row]}),
        _Endpoint("POST", (*one, "positions", "end"), {"partitions": [row]}),
        _Endpoint("POST", (*one, "positions", "beginning"), {"partitions": [row]}),
        _Endpoint("GET", (*one, "records"), None, V2, ("timeout", "max_bytes")),
        _Endpoint("POST", ("consumers", "odd", "instances", "none", "subscription"), {"topics": [topic]}),
        _Endpoint(
            "POST",
            ("events", topic),
            {"id": 1, "u": {"k": "x"}},
            "application/json",
            ("keyField", "key", "idField", "timeField"),
        ),
        _Endpoint("POST", ("events", topic), {"id": 1, "u": 2}, "application/x-ndjson", ("idField",)),
        _Endpoint("GET", (*v3, "brokers", "0")),
        _Endpoint("GET", (*v3, "brokers", "0", "configs", "retention.ms")),
        _Endpoint("GET", (*v3, "topics", topic, "partitions", "0", "replicas", "0")),
        _Endpoint("GET", (*v3, "consumer-groups", "odd", "lags")),
        _Endpoint("PUT", (*v3, "topics", topic, "configs", "retention.ms"), {"value": "5000"}, "application/json"),
        _Endpoint("POST", (*v3, "topics", topic, "configs:alter"), {"data": [config]}, "application/json"),
        _Endpoint("PATCH", (*v3, "topics", topic), {"partitions_count": 1}, "application/json"),
        _Endpoint(
            "POST",
            (*v3, "topics"),
            {
                "topic_name": "odd",
                "partitions_count": 1,
                "replication_factor": 1,
                "configs": [config],
                "validate_only": True,
            },
            "application/json",
        ),
        _Endpoint(
            "POST",
            (*v3, "topics"),
            {
                "topic_name": "odd",
                "replicas_assignments": [{"partition_id": 0, "broker_ids": [0]}],
                "validate_only": True,
            },
            "application/json",
        ),
    ]
    values: list[dict[str, Any]] = [
        {"type": "BINARY", "data": "eA=="},
        {"type": "STRING", "data": "x"},
        {"type": "JSON", "data": {"a": 1}},
    ]
    if with_schemas:
        values.append({"type": "AVRO", "schema": _AVRO, "data": {"n": 1, "u": {"double": 1.5}}})
        values.append({"schema_id": 1, "data": 1})
        avro = {"value_schema": _AVRO, "value_schema_id": None, "records": [{"value": {"n": 1, "u": None}}]}
        found.append(_Endpoint("POST", ("topics", topic), avro, "application/vnd.kafka.avro.v2+json"))
    for value in values:
        body = {
            "partition_id": 0,
            "headers": [header],
            "key": None,
            "value": value,
            "timestamp": "2026-01-31T12:00:00Z",
        }
        found.append(_Endpoint("POST", (*v3, "topics", topic, "records"), body, "application/json"))
    return found


def odd_requests(seed: int, count: int, of: list[_Endpoint]) -> Iterator[OddRequest]:
    draw = random.Random(seed)
    for number in range(count):
        endpoint = of[number % len(of)]
        path, query, body = (
            list(endpoint.path),
            "",
            b"" if endpoint.body is None else json.dumps(endpoint.body).encode(),
        )
        place = draw.choice([*(["body"] * 3 if body else []), *(["query"] * 3 if endpoint.query else []), "path"])
        if place == "body":
            body = _with_odd_value(draw, endpoint.body)
        elif place == "query":
            query = f"?{draw.choice(endpoint.query)}={quote(draw.choice(ODD_TEXTS))}"
        else:
            path[draw.randrange(len(path))] = draw.choice(ODD_TEXTS)
        target = "/" + "/".join(quote(part, safe=":") for part in path) + query
        yield OddRequest(endpoint.method, target, endpoint.kind, body)


def _with_odd_value(draw: random.Random, body: Any) -> bytes:
    """The body, with a value, or all of it, replaced."""
    places = list(_places(body, ()))
    text = json.dumps(_replaced(body, draw.choice(places), "@odd@"))
    return text.replace('"@odd@"', draw.choice(ODD)).encode("utf-8", "surrogatepass")


def _places(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    yield path
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from _places(value[key], (*path, key))


def _replaced(value: Any, path: tuple[Any, ...], by: Any) -> Any:
    if not path:
        return by
    copy = dict(value) if isinstance(value, dict) else list(value)
    copy[path[0]] = _replaced(value[path[0]], path[1:], by)
    return copy
