"""What requests hold is checked before anything is done with it: numbers, nulls, JSON, times, keys of events."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafkapy.common import strict_json
from kafkapy.http.messages import HttpAnswer
from kafkapy.structs import TopicPartition
from tests.rest.odd_requests import V2, endpoints, odd_requests
from tests.rest.proxy_in_process import CLUSTER, ProxyInProcess, SentRecord
from tests.rest.test_rest_parts import record

BINARY = "application/vnd.kafka.binary.v2+json"
IN_JSON = "application/vnd.kafka.json.v2+json"
AVRO = "application/vnd.kafka.avro.v2+json"
RECORDS = f"/v3/clusters/{CLUSTER}/topics/t/records"
INSTANCE = "/consumers/odd/instances/one"


@pytest.fixture
def proxy() -> ProxyInProcess:
    made = ProxyInProcess()
    assert made.ask("POST", "/consumers/odd", b'{"name": "one"}', V2).status == 200
    assert (
        made.ask("POST", f"{INSTANCE}/assignments", b'{"partitions": [{"topic": "t", "partition": 0}]}').status == 204
    )
    return made


def status(answer: HttpAnswer) -> int:
    """That of the answer, or of the record, in v3; the answer is JSON."""
    for line in answer.body.splitlines():
        strict_json.loads(line)
    return answer.status


@pytest.mark.parametrize("seed", range(4))
def test_no_odd_request_is_the_proxy_s_fault(proxy: ProxyInProcess, seed: int) -> None:
    for request in odd_requests(seed, 1_500, endpoints(CLUSTER, "t", ("odd", "one"), True)):
        answer = proxy.ask(request.method, request.target, request.body, request.kind)
        assert status(answer) < 500, (request, answer)


def test_the_requests_are_good_but_for_what_is_odd(proxy: ProxyInProcess) -> None:
    for endpoint in endpoints(CLUSTER, "t", ("odd", "one"), True):
        body = b"" if endpoint.body is None else json.dumps(endpoint.body).encode()
        answer = proxy.ask(endpoint.method, "/" + "/".join(endpoint.path), body, endpoint.kind)
        known = {200, 201, 204} if "none" not in endpoint.path else {404}
        known |= {409} if endpoint.path[0] == "consumers" and len(endpoint.path) == 2 else set()
        assert status(answer) in known, (endpoint, answer)


@pytest.mark.parametrize(
    ("method", "target", "body", "expected"),
    [
        ("POST", "/topics/t/partitions/%C2%B2", '{"records": [{"value": "eA=="}]}', 404),
        ("POST", "/topics/t/partitions/9999999999", '{"records": [{"value": "eA=="}]}', 404),
        ("POST", "/topics/t", '{"records": [{"value": "eA==", "partition": 1099511627776}]}', 422),
        ("POST", "/topics/t", '{"records": [{"value": "eA==", "partition": 7}]}', 404),
        ("POST", "/topics/t/partitions/7", '{"records": [{"value": "eA==", "partition": null}]}', 404),
        ("POST", "/topics/t", '{"records": [{"value": "eA==", "partition": true}]}', 422),
        ("POST", "/topics/t", '{"records": [{"value": "eA==", "partition": 1.0}]}', 422),
        ("POST", "/topics/t", '{"records": [{"value": "eA==", "timestamp": 100000000000000000000}]}', 422),
        ("POST", "/topics/t", '{"records": [{"value": "eA==", "timestamp": 9223372036854775807}]}', 200),
        ("POST", "/topics/t", '{"records": [{}]}', 422),
        ("POST", "/topics/t", '{"records": [{"value": "eA==", "headers": 5}]}', 422),
        ("GET", f"{INSTANCE}/records?timeout=%C2%B2", "", 400),
        ("GET", f"{INSTANCE}/records?timeout=%D9%A3", "", 400),
        ("GET", f"{INSTANCE}/records?timeout=9223372036854775807", "", 200),
        ("GET", f"{INSTANCE}/records?timeout=9223372036854775808", "", 400),
        ("GET", f"{INSTANCE}/records?max_bytes=-1", "", 400),
        (
            "POST",
            f"{INSTANCE}/positions",
            '{"offsets": [{"topic": "t", "partition": 0, "offset": 9223372036854775808}]}',
            422,
        ),
        (
            "POST",
            f"{INSTANCE}/positions",
            '{"offsets": [{"topic": "t", "partition": 0, "offset": 9223372036854775807}]}',
            204,
        ),
        (
            "POST",
            f"{INSTANCE}/offsets",
            '{"offsets": [{"topic": "t", "partition": 0, "offset": 9223372036854775807}]}',
            422,
        ),
        (
            "POST",
            f"{INSTANCE}/offsets",
            '{"offsets": [{"topic": "t", "partition": 0, "offset": 9223372036854775806}]}',
            204,
        ),
        ("POST", f"{INSTANCE}/offsets", '{"offsets": [{"topic": "t", "partition": 1099511627776, "offset": 1}]}', 422),
        (
            "POST",
            f"{INSTANCE}/offsets",
            '{"offsets": [{"topic": "t", "partition": 0, "offset": 1, "metadata": {}}]}',
            204,
        ),
        (
            "POST",
            f"{INSTANCE}/offsets",
            '{"offsets": [{"topic": "t", "partition": 0, "offset": 1, "metadata": [1]}]}',
            422,
        ),
        ("POST", "/consumers/odd", '{"fetch.min.bytes": 2147483648}', 422),
        ("POST", "/consumers/odd", '{"consumer.request.timeout.ms": "\\u00b2"}', 422),
        ("POST", "/consumers/odd", '{"consumer.request.timeout.ms": "5"}', 200),
    ],
)
def test_numbers_of_v2(proxy: ProxyInProcess, method: str, target: str, body: str, expected: int) -> None:
    assert status(proxy.ask(method, target, body.encode(), V2)) == expected


@pytest.mark.parametrize(
    ("method", "below", "body", "expected"),
    [
        ("POST", "topics", {"topic_name": "n", "partitions_count": 2**31}, 400),
        ("POST", "topics", {"topic_name": "n", "partitions_count": 1, "replication_factor": 2**15}, 400),
        ("POST", "topics", {"topic_name": "n", "validate_only": "true"}, 400),
        ("POST", "topics", {"topic_name": "n", "replicas_assignments": [{}]}, 400),
        (
            "POST",
            "topics",
            {"topic_name": "n", "replicas_assignments": [{"partition_id": 0, "broker_ids": [2**31]}]},
            400,
        ),
        ("PATCH", "topics/t", {"partitions_count": 2**40}, 400),
        ("PUT", "topics/t/configs/retention.ms", {"value": {}}, 400),
        ("PUT", "topics/t/configs/retention.ms", {"value": 5}, 204),
        ("PUT", "topics/t/configs/none", {"value": "5"}, 404),
        ("POST", "topics/t/configs:alter", {"data": [{"name": "retention.ms", "operation": "APPEND"}]}, 400),
        ("POST", "topics/t/records", {"partition_id": 2**31, "value": {"type": "STRING", "data": "x"}}, 400),
        ("POST", "topics/t/records", {"partition_id": [], "value": {"type": "STRING", "data": "x"}}, 400),
        ("POST", "topics/t/records", {"headers": True, "value": {"type": "STRING", "data": "x"}}, 400),
        ("POST", "topics/t/records", {"value": {"type": [], "data": "x"}}, 400),
        ("POST", "topics/t/records", {"value": {"schema_id": 2**31, "data": "x"}}, 400),
        (
            "POST",
            "topics/t/records",
            {"timestamp": "2026-01-31T12:00:00", "value": {"type": "STRING", "data": "x"}},
            400,
        ),
        ("POST", "topics/t/records", {"timestamp": 20260131, "value": {"type": "STRING", "data": "x"}}, 400),
        (
            "POST",
            "topics/t/records",
            {"timestamp": "1969-12-31T23:59:59Z", "value": {"type": "STRING", "data": "x"}},
            400,
        ),
    ],
)
def test_fields_of_v3(proxy: ProxyInProcess, method: str, below: str, body: Any, expected: int) -> None:
    answer = proxy.ask(method, f"/v3/clusters/{CLUSTER}/{below}", json.dumps(body).encode())
    assert status(answer) == expected, answer


def test_an_instance_s_url_holds_any_name(proxy: ProxyInProcess) -> None:
    made = strict_json.loads(proxy.ask("POST", "/consumers/a%2Fb", '{"name": "ü 1/?"}'.encode(), V2).body)
    assert made == {"instance_id": "ü 1/?", "base_uri": "http://proxy/consumers/a%2Fb/instances/%C3%BC%201%2F%3F"}
    assert proxy.ask("DELETE", made["base_uri"].removeprefix("http://proxy")).status == 204


@pytest.mark.parametrize("version", [2, 3])
def test_null_is_not_empty(proxy: ProxyInProcess, version: int) -> None:
    headers = [
        {"name": "null", "value": None},
        {"name": "none"},
        {"name": "empty", "value": ""},
        {"name": "x", "value": "eA=="},
    ]

    def send(key: Any, value: Any) -> SentRecord:
        if version == 2:
            body: Any = {"records": [{"key": key, "value": value, "headers": headers}]}
            answer = proxy.ask("POST", "/topics/t", json.dumps(body).encode(), BINARY)
        else:
            parts = {name: {"type": "BINARY", "data": data} for name, data in (("key", key), ("value", value))}
            answer = proxy.ask("POST", RECORDS, json.dumps({**parts, "headers": headers}).encode())
        assert answer.status == 200, answer
        return proxy.producer.sent[-1]

    sent = send("eA==", None)
    assert (sent.key, sent.value) == (b"x", None)
    assert sent.headers == [("null", None), ("none", None), ("empty", b""), ("x", b"x")]
    sent = send("", "")
    assert (sent.key, sent.value) == (b"", b"")
    sent = send(None, "")
    assert (sent.key, sent.value) == (None, b"")


def test_null_is_a_tombstone_under_every_schema(proxy: ProxyInProcess) -> None:
    body = {"key_schema": '"string"', "value_schema": '["null", "int"]', "records": [{"key": "k", "value": None}]}
    assert proxy.ask("POST", "/topics/t", json.dumps(body).encode(), AVRO).status == 200
    assert proxy.producer.sent[-1].value is None
    assert proxy.producer.sent[-1].key is not None


def test_null_and_empty_as_consumers_hear_of_them(proxy: ProxyInProcess) -> None:
    proxy.waiting[TopicPartition("t", 0)] = [record(0, 1, b"")._replace(key=None), record(0, 2, b"")._replace(key=b"")]
    assert [each["key"] for each in strict_json.loads(proxy.ask("GET", f"{INSTANCE}/records").body)] == [None, ""]


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", "1e400", r'"\ud83d"', "[" * 100_000, "'x'", '"\x01"']
)
def test_what_is_no_json_is_not_taken(proxy: ProxyInProcess, value: str) -> None:
    v2, v3 = f'{{"records": [{{"value": {value}}}]}}', f'{{"value": {{"type": "JSON", "data": {value}}}}}'
    assert status(proxy.ask("POST", "/topics/t", v2.encode(), IN_JSON)) == 400
    assert status(proxy.ask("POST", RECORDS, v3.encode())) == 400
    assert status(proxy.ask("POST", "/events/t", f'{{"a": {value}}}'.encode())) == 400
    assert (
        status(proxy.ask("POST", "/events/t", f'{{"a": 1}}\n{{"a": {value}}}'.encode(), "application/x-ndjson")) == 400
    )
    assert status(proxy.ask("POST", "/consumers/odd", f'{{"name": {value}}}'.encode(), V2)) == 400
    assert proxy.producer.sent == []


@pytest.mark.parametrize("event", ['"a"'.encode("utf-16"), b'\xef\xbb\xbf"a"', b'"\xff"', b'"\xed\xa0\xbd"'])
def test_an_event_is_utf_8(proxy: ProxyInProcess, event: bytes) -> None:
    assert status(proxy.ask("POST", "/events/t", event)) == 400


def test_a_record_that_is_no_json_is_named_once(proxy: ProxyInProcess) -> None:
    assert proxy.ask("POST", "/consumers/odd", b'{"name": "json", "format": "json"}', V2).status == 200
    proxy.waiting[TopicPartition("t", 0)] = [record(0, 1, b'{"rate": NaN}')]
    answer = proxy.ask("GET", "/consumers/odd/instances/json/records", kind=IN_JSON)
    assert (answer.status, strict_json.loads(answer.body)["error_code"]) == (408, 40801)
    assert b"NaN is not a JSON number (t-0 at offset 1" in answer.body


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ('"int"', 2**31, 422),
        ('"int"', 1.5, 422),
        ('"int"', True, 422),
        ('"long"', 2**63, 422),
        pytest.param('"double"', 10**400, 422, id="beyond-double"),
        ('"null"', 0, 422),
        ('{"type": "array", "items": "int"}', 5, 422),
        ('["null", "int"]', 5, 422),
        ('{"type": "long", "logicalType": "timestamp-micros"}', 2**63 - 1, 200),
        ('{"type": "int", "logicalType": "date"}', -(2**31), 200),
    ],
)
def test_numbers_of_avro(proxy: ProxyInProcess, schema: str, value: Any, expected: int) -> None:
    body = {"value_schema": schema, "records": [{"key": None, "value": value}]}
    assert status(proxy.ask("POST", "/topics/t", json.dumps(body).encode(), AVRO)) == expected


@pytest.mark.parametrize(
    ("time", "ms"),
    [
        ("2026-01-31T12:00:00.001Z", 1769860800001),
        ("2026-01-31T12:00:00.0019999Z", 1769860800001),
        ("2026-01-31T13:00:00+01:00", 1769860800000),
        ("1970-01-01T00:00:00Z", 0),
        ("9999-12-31T23:59:59.999Z", 253402300799999),
    ],
)
def test_times_of_v3_are_exact(proxy: ProxyInProcess, time: str, ms: int) -> None:
    body = {"timestamp": time, "value": {"type": "STRING", "data": "x"}}
    answer = proxy.ask("POST", RECORDS, json.dumps(body).encode())
    assert answer.status == 200
    assert proxy.producer.sent[-1].timestamp == ms
    if time.endswith(".001Z"):
        assert strict_json.loads(answer.body)["timestamp"] == time


def ids(proxy: ProxyInProcess) -> list[Any]:
    found = [dict(each.headers).get("event-id") for each in proxy.producer.sent]
    proxy.producer.sent.clear()
    return found


def test_a_retry_has_the_ids_of_its_first_request(proxy: ProxyInProcess) -> None:
    key = "8e03978e-40d5-43dd-bc93-6894a57f9324"
    for given in (key, f'"{key}"', key):
        assert proxy.ask("POST", "/events/t", b'{"a": 1}', idempotency_key=given).status == 200
    assert ids(proxy) == [key.encode()] * 3
    for _ in range(2):
        assert proxy.ask("POST", "/events/t", b"1\n\n2\n", "application/x-ndjson", idempotency_key="k").status == 200
    assert ids(proxy) == [b"k-1", b"k-2"] * 2
    assert proxy.ask("POST", "/events/t", b"1\n", "application/x-ndjson", idempotency_key="k").status == 200
    assert ids(proxy) == [b"k-1"]
    assert proxy.ask("POST", "/events/t", b"1").status == 200
    assert proxy.producer.sent[-1].headers == []


@pytest.mark.parametrize("key", ["", '""', "a b", '"a', 'a"', "a\\b", "k" * 256, "é", '"a" "b"'])
def test_a_key_that_is_none_is_refused(proxy: ProxyInProcess, key: str) -> None:
    answer = proxy.ask("POST", "/events/t", b"1", idempotency_key=key)
    assert status(answer) == 400
    assert b"Idempotency-Key" in answer.body
    assert proxy.producer.sent == []


def test_an_event_brings_its_id(proxy: ProxyInProcess) -> None:
    lines = b'{"id": "a", "user": {"id": 7}}\n{"id": 12345678901234567890, "user": {"id": 8}}'
    assert proxy.ask("POST", "/events/t?idField=id&keyField=user.id", lines, "application/x-ndjson").status == 200
    assert [each.key for each in proxy.producer.sent] == [b"7", b"8"]
    assert ids(proxy) == [b"a", b"12345678901234567890"]
    for event in ('{"id": ""}', '{"id": null}', "{}", '{"id": true}', '{"id": {}}', '{"id": 1.5}', "[]"):
        answer = proxy.ask("POST", "/events/t?idField=id", event.encode())
        assert (status(answer), b"Line 1 has no id" in answer.body) == (400, True), event
    assert proxy.ask("POST", "/events/t?idField=id", b'{"id": "a"}', idempotency_key="k").status == 400
    assert proxy.producer.sent == []


def test_an_event_brings_its_time(proxy: ProxyInProcess) -> None:
    lines = b'{"at": "2026-01-31T12:00:00.001Z"}\n{"at": 1769860800002}'
    assert proxy.ask("POST", "/events/t?timeField=at", lines, "application/x-ndjson").status == 200
    assert [each.timestamp for each in proxy.producer.sent] == [1769860800001, 1769860800002]
    assert proxy.ask("POST", "/events/t?timeField=at", b'{"at": 5}').status == 200
    assert proxy.producer.sent.pop().timestamp == 5
    for at in ('""', "null", "-1", "1.5", "true", str(2**63), '"2026-01-31T12:00:00"', '"1969-12-31T23:59:59Z"', "[]"):
        answer = proxy.ask("POST", "/events/t?timeField=at", f'{{"at": {at}}}'.encode())
        assert (status(answer), b"Line 1 has no at" in answer.body) == (400, True), at
