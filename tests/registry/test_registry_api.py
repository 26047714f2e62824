"""The registry's interface: subjects, versions, ids, compatibility, deletion, references, contexts, with Confluent's codes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from kafkapy.http.messages import HttpRequest
from kafkapy.registry.records import RegistryRecord
from kafkapy.registry.refusals import RegistryRefusal
from tests.registry.memory_registry import ME, MemoryLog, MemoryRegistry

INT, LONG, STRING = '"int"', '"long"', '"string"'


def record(*fields: str, name: str = "R") -> str:
    content = [{"name": field, "type": "string", "default": ""} for field in fields]
    return json.dumps({"type": "record", "name": name, "fields": content})


@pytest.fixture
def registry() -> MemoryRegistry:
    return MemoryRegistry()


def test_versions_and_ids(registry: MemoryRegistry) -> None:
    assert registry.register("a", record("x")) == 1
    assert registry.register("a", record("x")) == 1
    assert registry.register("a", record("x", "y")) == 2
    assert registry.register("b", record("x")) == 1, "one schema has one id"
    assert registry.ask("GET", "/subjects") == (200, ["a", "b"])
    assert registry.ask("GET", "/subjects/a/versions") == (200, [1, 2])
    _, latest = registry.ask("GET", "/subjects/a/versions/latest")
    assert (latest["version"], latest["id"], "schemaType" in latest) == (2, 2, False)
    assert registry.ask("GET", "/schemas/ids/1/subjects")[1] == ["a", "b"]
    assert {"subject": "b", "version": 1} in registry.ask("GET", "/schemas/ids/1/versions")[1]
    guid = registry.ask("GET", "/schemas/ids/1")[1]["guid"]
    assert (
        registry.ask("GET", f"/schemas/guids/{guid}")[1]["schema"] == registry.ask("GET", "/schemas/ids/1")[1]["schema"]
    )
    assert registry.ask("GET", f"/schemas/guids/{guid}/ids")[1] == [{"context": ".", "id": 1}]
    assert registry.ask("GET", "/schemas/ids/1?fetchMaxId=true")[1]["maxId"] == 2
    assert registry.ask("GET", "/schemas/types")[1] == ["JSON", "PROTOBUF", "AVRO"], "franz-go fails on others"


def test_thrift(registry: MemoryRegistry) -> None:
    pytest.importorskip("thriftpy2")
    first = "struct Paid { 1: required string id }"

    def register(text: str) -> int:
        answer = registry.ask("POST", "/subjects/a/versions", {"schema": text, "schemaType": "THRIFT"})[1]
        return int(answer["id"])

    assert register(first) == 1
    assert register("// what it is\nstruct Paid {\n  1: required string id,\n}") == 1, "layout"
    assert register("struct Paid { 1: required string id, 2: optional i32 n }") == 2
    body = {"schema": "struct Paid { 1: required i64 id }", "schemaType": "THRIFT"}
    status, refusal = registry.ask("POST", "/subjects/a/versions", body)
    assert (status, "FIELD_TYPE_CHANGED" in refusal["message"]) == (409, True)
    _, latest = registry.ask("GET", "/subjects/a/versions/latest")
    assert (latest["schemaType"], latest["version"]) == ("THRIFT", 2)
    with_reference = {
        "schema": first,
        "schemaType": "THRIFT",
        "references": [{"name": "x", "subject": "a", "version": 1}],
    }
    assert registry.refused("POST", "/subjects/b/versions", with_reference) == 42201


def test_raw_text_and_look_up(registry: MemoryRegistry) -> None:
    registry.register("a", record("x"))
    assert json.loads(registry.send("GET", "/schemas/ids/1/schema").body) == json.loads(record("x"))
    assert json.loads(registry.send("GET", "/subjects/a/versions/1/schema").body) == json.loads(record("x"))
    assert registry.ask("POST", "/subjects/a", {"schema": record("x")})[1]["version"] == 1
    assert registry.refused("POST", "/subjects/a", {"schema": record("y")}) == 40403
    assert registry.refused("POST", "/subjects/b", {"schema": record("x")}) == 40401


@pytest.mark.parametrize(
    ("method", "path", "body", "code"),
    [
        ("GET", "/subjects/none/versions", None, 40401),
        ("GET", "/subjects/a/versions/9", None, 40402),
        ("GET", "/subjects/a/versions/zero", None, 42202),
        ("GET", "/subjects/a/versions/0", None, 42202),
        ("GET", "/schemas/ids/99", None, 40403),
        ("GET", "/schemas/guids/none", None, 40403),
        ("POST", "/subjects/a/versions", {"schema": ""}, 42201),
        ("POST", "/subjects/a/versions", {"schema": "{"}, 42201),
        ("POST", "/subjects/a/versions", {"schema": INT, "schemaType": "XML"}, 422),
        ("POST", "/subjects/a/versions", {"schema": INT, "frills": 1}, 422),
        (
            "POST",
            "/subjects/a/versions",
            {"schema": INT, "references": [{"name": "x", "subject": "none", "version": 1}]},
            42201,
        ),
        ("POST", "/subjects/a/versions", {"schema": INT}, 409),
        ("POST", "/subjects/a/versions", {"schema": record("x", "z"), "id": 7}, 42205),
        ("POST", "/subjects/__GLOBAL/versions", {"schema": INT}, 42208),
        ("DELETE", "/subjects/none", None, 40401),
        ("DELETE", "/subjects/a?permanent=true", None, 40405),
        ("DELETE", "/subjects/a/versions/1?permanent=true", None, 40407),
        ("DELETE", "/subjects/a/versions/5", None, 40402),
        ("GET", "/config/a", None, 40408),
        ("PUT", "/config", {"compatibility": "SOMEWHAT"}, 42203),
        ("PUT", "/config", {"alias": "b"}, 422),
        ("DELETE", "/config/a", None, 40401),
        ("GET", "/mode/a", None, 40409),
        ("PUT", "/mode", {"mode": "SIDEWAYS"}, 42204),
        ("PUT", "/mode/a", {"mode": "FORWARD"}, 42204),
        ("PUT", "/mode", {"mode": "IMPORT"}, 42205),
        ("GET", "/nowhere", None, 404),
        ("PUT", "/subjects", None, 405),
        ("POST", "/compatibility/subjects/a/versions/3", {"schema": INT}, 40402),
    ],
)
def test_refusals(registry: MemoryRegistry, method: str, path: str, body: Any, code: int) -> None:
    registry.register("a", record("x"))
    assert registry.refused(method, path, body) == code


def test_bodies_and_content_types(registry: MemoryRegistry) -> None:
    assert registry.send("POST", "/subjects/a/versions", b"{").status == 400
    assert registry.send("POST", "/subjects/a/versions", b"{}", content_type="text/plain").status == 415
    assert registry.send("GET", "/subjects", accept="text/html").status == 406
    answer = registry.send("GET", "/subjects", accept="text/html;q=0.1, application/json")
    assert dict(answer.headers)["content-type"] == "application/json"
    nested = b'{"schema":' + b"[" * 100_000 + b"}"
    assert registry.send("POST", "/subjects/a/versions", nested).status == 400


@pytest.mark.parametrize(
    ("level", "second", "third", "fits"),
    [
        ("BACKWARD", LONG, '"double"', True),
        ("BACKWARD", LONG, '"boolean"', False),
        ("FORWARD", INT, INT, True),
        ("FORWARD", LONG, LONG, False),
        ("FULL", LONG, LONG, False),
        ("NONE", STRING, '"null"', True),
        ("BACKWARD_TRANSITIVE", LONG, '"bytes"', False),
    ],
)
def test_levels(registry: MemoryRegistry, level: str, second: str, third: str, fits: bool) -> None:
    registry.ask("PUT", "/config/a", {"compatibility": level})
    assert registry.ask("GET", "/config/a")[1] == {"compatibilityLevel": level}
    registry.register("a", INT)
    statuses = [registry.ask("POST", "/subjects/a/versions", {"schema": each})[0] for each in (second, third)]
    assert (statuses == [200, 200]) is fits


def test_what_is_no_schema_is_a_reason_for_who_asks_for_reasons(registry: MemoryRegistry) -> None:
    path = "/compatibility/subjects/a/versions"
    assert registry.refused("POST", path, {"schema": "{"}) == 42201
    status, answer = registry.ask("POST", f"{path}?verbose=true", {"schema": "{"})
    assert (status, answer["is_compatible"], len(answer["messages"])) == (200, False, 1)


def test_transitive_looks_at_all_versions(registry: MemoryRegistry) -> None:
    registry.ask("PUT", "/config", {"compatibility": "NONE"})
    for schema in (STRING, INT):
        registry.register("a", schema)
    registry.ask("PUT", "/config", {"compatibility": "BACKWARD_TRANSITIVE"})
    path = "/compatibility/subjects/a/versions?verbose=true"
    _, answer = registry.ask("POST", path, {"schema": LONG})
    assert answer["is_compatible"] is False
    assert "{oldSchemaVersion: 1}" in answer["messages"]
    registry.ask("PUT", "/config", {"compatibility": "BACKWARD"})
    assert registry.ask("POST", "/compatibility/subjects/a/versions/latest", {"schema": LONG})[1] == {
        "is_compatible": True
    }
    assert registry.ask("POST", "/compatibility/subjects/new/versions/latest", {"schema": LONG})[1]["is_compatible"]


def test_soft_and_hard_deletion(registry: MemoryRegistry) -> None:
    for fields in ((), ("x",), ("x", "y")):
        registry.register("a", record(*fields))
    assert registry.ask("DELETE", "/subjects/a/versions/2") == (200, 2)
    assert registry.refused("DELETE", "/subjects/a/versions/2") == 40406
    assert registry.ask("GET", "/subjects/a/versions")[1] == [1, 3]
    assert registry.ask("GET", "/subjects/a/versions?deleted=true")[1] == [1, 2, 3]
    assert registry.ask("GET", "/subjects/a/versions?deletedOnly=true")[1] == [2]
    assert registry.ask("GET", "/schemas/ids/2")[0] == 200, "what was written with it can still be read"
    assert registry.ask("DELETE", "/subjects/a/versions/2?permanent=true") == (200, 2)
    assert registry.ask("GET", "/schemas/ids/2")[0] == 404
    assert registry.ask("DELETE", "/subjects/a") == (200, [1, 3])
    assert registry.refused("DELETE", "/subjects/a") == 40404
    assert registry.ask("GET", "/subjects")[1] == []
    assert registry.ask("GET", "/subjects?deleted=true")[1] == ["a"]
    assert registry.register("a", record("x", "y")) == 3, "registering again brings the id back"
    assert registry.ask("GET", "/subjects/a/versions")[1] == [4]
    assert registry.ask("DELETE", "/subjects/a")[1] == [4]
    assert registry.ask("DELETE", "/subjects/a?permanent=true") == (200, [1, 4])
    assert registry.ask("GET", "/subjects?deleted=true")[1] == []
    assert registry.register("a", INT) == 4, "ids are not given out again"


def test_references_hold_what_they_refer_to(registry: MemoryRegistry) -> None:
    registry.register("user", record("name", name="User"))
    order = json.dumps({"type": "record", "name": "Order", "fields": [{"name": "user", "type": "User"}]})
    reference = {"name": "User", "subject": "user", "version": 1}
    order_id = registry.register("order", order, references=[reference])
    assert registry.ask("GET", f"/schemas/ids/{order_id}")[1]["references"] == [reference]
    assert registry.ask("GET", "/subjects/user/versions/1/referencedby")[1] == [order_id]
    assert registry.refused("DELETE", "/subjects/user") == 42206
    assert registry.refused("DELETE", "/subjects/user/versions/1") == 42206
    resolved = registry.ask("GET", f"/schemas/ids/{order_id}?format=resolved")[1]["schema"]
    assert json.loads(resolved)["fields"][0]["type"]["name"] == "User"
    assert registry.register("order", order, references=[reference | {"version": -1}]) == order_id
    registry.ask("DELETE", "/subjects/order")
    assert registry.ask("DELETE", "/subjects/user")[0] == 200


def test_modes(registry: MemoryRegistry) -> None:
    assert registry.ask("GET", "/mode")[1] == {"mode": "READWRITE"}
    registry.ask("PUT", "/mode/a", {"mode": "READONLY"})
    assert registry.refused("POST", "/subjects/a/versions", {"schema": INT}) == 42205
    assert registry.ask("GET", "/mode/b?defaultToGlobal=true")[1] == {"mode": "READWRITE"}
    assert registry.ask("DELETE", "/mode/a")[1] == {"mode": "READONLY"}
    registry.ask("PUT", "/mode/a", {"mode": "IMPORT"})
    assert registry.refused("POST", "/subjects/a/versions", {"schema": INT}) == 42205
    assert registry.register("a", INT, id=70, version=3) == 70
    assert registry.register("a", STRING, id=71, version=2) == 71, "importing asks nothing about compatibility"
    assert registry.ask("GET", "/subjects/a/versions")[1] == [2, 3]
    assert registry.refused("POST", "/subjects/a/versions", {"schema": '"null"', "id": 70}) == 42205
    registry.ask("PUT", "/mode/a", {"mode": "READWRITE"})
    assert registry.register("b", '"null"') == 72
    registry.ask("PUT", "/mode", {"mode": "READONLY_OVERRIDE"})
    assert registry.refused("POST", "/subjects/a/versions", {"schema": LONG}) == 42205
    fixed = MemoryRegistry(mode_mutability=False)
    assert fixed.refused("PUT", "/mode", {"mode": "READONLY"}) == 42205


def test_contexts_have_ids_of_their_own(registry: MemoryRegistry) -> None:
    registry.register("a", INT)
    assert registry.register(":.team:a", STRING) == 1
    assert registry.ask("GET", "/contexts")[1] == [".", ".team"]
    assert registry.ask("GET", "/subjects")[1] == [":.team:a", "a"]
    assert registry.ask("GET", "/subjects?subjectPrefix=a")[1] == ["a"]
    assert registry.ask("GET", "/subjects?subjectPrefix=:.team:")[1] == [":.team:a"]
    assert registry.ask("GET", "/schemas/ids/1")[1]["schema"] == INT
    assert registry.ask("GET", "/schemas/ids/1?subject=:.team:")[1]["schema"] == STRING
    registry.ask("PUT", "/config/:.team:", {"compatibility": "NONE"})
    assert registry.ask("GET", "/config/:.team:a?defaultToGlobal=true")[1] == {"compatibilityLevel": "NONE"}
    registry.register(":.team:a", INT)
    assert registry.refused("DELETE", "/contexts/.team") == 42211
    registry.ask("DELETE", "/subjects/:.team:a")
    registry.ask("DELETE", "/subjects/:.team:a?permanent=true")
    assert registry.ask("DELETE", "/contexts/.team")[0] == 204
    assert registry.ask("GET", "/contexts")[1] == ["."]


def test_normalizing(registry: MemoryRegistry) -> None:
    one, other = '{"type":"object","title":"t"}', '{"title":"t","type":"object"}'
    first = registry.register("a", one, schemaType="JSON")
    assert registry.ask("POST", "/subjects/a", {"schema": other, "schemaType": "JSON"})[0] == 404
    body = {"schema": other, "schemaType": "JSON"}
    _, answer = registry.ask("POST", "/subjects/a/versions?normalize=true", body)
    assert answer["id"] != first
    registry.ask("PUT", "/config/b", {"normalize": True})
    assert registry.register("b", one, schemaType="JSON") == answer["id"]


def test_protobuf_in_either_form_is_one_schema(registry: MemoryRegistry) -> None:
    text = 'syntax = "proto3";\n\nmessage A {\n  int32 a = 1;\n}\n'
    schema_id = registry.register("p", text, schemaType="PROTOBUF")
    encoded = registry.ask("GET", f"/schemas/ids/{schema_id}?format=serialized")[1]["schema"]
    assert registry.register("p", encoded, schemaType="PROTOBUF") == schema_id
    assert registry.ask("GET", "/subjects/p/versions/1")[1]["schema"] == text


def test_another_instance_finds_the_same(registry: MemoryRegistry) -> None:
    registry.register("a", record("x"))
    registry.register("a", record("x", "y"))
    registry.register(":.team:b", INT)
    registry.ask("PUT", "/config/a", {"compatibility": "FULL"})
    registry.ask("PUT", "/mode/b", {"mode": "READONLY"})
    registry.ask("DELETE", "/subjects/a/versions/1")
    registry.ask("DELETE", "/subjects/:.team:b")
    other = registry.copy()
    for path in (
        "/schemas?deleted=true",
        "/subjects?deleted=true",
        "/config/a",
        "/mode/b",
        "/contexts",
        "/schemas/ids/1",
    ):
        assert registry.ask("GET", path) == other.ask("GET", path)
    assert other.register("c", record("new")) == 3


def test_confluents_records_are_understood(registry: MemoryRegistry) -> None:
    """As Confluent's registry 7 wrote them, with null subjects and unknown fields."""
    from kafkapy.registry.records import RegistryRecord

    for key, value in [
        ('{"keytype":"NOOP","magic":0}', None),
        ('{"keytype":"CONFIG","subject":null,"magic":0}', '{"compatibilityLevel":"FULL"}'),
        (
            '{"keytype":"SCHEMA","subject":"s","version":1,"magic":1}',
            '{"subject":"s","version":1,"id":4,"md5":"x","schema":"\\"int\\"","deleted":false}',
        ),
        (
            '{"keytype":"SCHEMA","subject":"s","version":2,"magic":1}',
            '{"subject":"s","version":2,"id":5,"schemaType":"JSON","references":[],"schema":"{}","deleted":false}',
        ),
        ('{"keytype":"DELETE_SUBJECT","subject":"s","magic":0}', '{"subject":"s","version":1}'),
        ('{"keytype":"FUTURE","magic":9}', '{"x":1}'),
    ]:
        found = RegistryRecord.from_bytes(key.encode(), None if value is None else value.encode())
        assert found is not None
        registry.service.apply(found)
    assert registry.ask("GET", "/config")[1] == {"compatibilityLevel": "FULL"}
    assert registry.ask("GET", "/subjects/s/versions?deleted=true")[1] == [1, 2]
    assert registry.ask("GET", "/subjects/s/versions")[1] == [2]


def test_writes_go_to_the_primary(registry: MemoryRegistry) -> None:
    other = ME._replace(host="there")
    registry.service.elected(other, ME)
    assert registry.ask("POST", "/subjects/a/versions", {"schema": INT}) == (200, {"id": 77})
    assert registry.forwarded == [("http://there:8081", "/subjects/a/versions")]
    assert registry.ask("GET", "/subjects") == (200, [])
    answer = registry.send("POST", "/subjects/a/versions", b'{"schema":"\\"int\\""}', x_forward="false")
    assert answer.status == 500, "it is passed on once only"
    registry.service.elected(other._replace(port=1), ME)
    assert registry.refused("DELETE", "/subjects/a") == 50003
    assert registry.service.is_write(HttpRequest("DELETE", "/subjects/a", ("subjects", "a"), {}, {}, b""))
    assert not registry.service.is_write(HttpRequest("GET", "/subjects", ("subjects",), {}, {}, b""))
    assert not registry.service.is_write(HttpRequest("GET", "/nothing", ("nothing",), {}, {}, b""))
    registry.service.elected(None, ME)
    assert registry.refused("DELETE", "/subjects/a") == 50004
    registry.service.elected(ME, ME)
    assert registry.register("a", INT) == 1
    assert b"NOOP" in registry.log.records[-2][0], "a new primary finds the end of the topic first"


def test_a_record_that_comes_late_is_not_missed(registry: MemoryRegistry) -> None:
    """Writing takes too long, but the record gets into the log nevertheless: its id is taken."""
    late: list[RegistryRecord] = []

    class SlowLog(MemoryLog):
        def write(self, records: Sequence[RegistryRecord]) -> None:
            if not late:
                late.extend(records)
                raise RegistryRefusal(500, 50002, "too slow")
            super().write([*late, *records] if records and records[0].kind == "NOOP" else records)

    assert registry.register("a", INT) == 1
    registry.service.use(SlowLog(registry.service))
    assert registry.refused("POST", "/subjects/b/versions", {"schema": LONG}) == 50002
    assert registry.register("c", STRING) == 3
    assert registry.register("b", LONG) == 2
