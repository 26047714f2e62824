"""What comes from outside is checked where it comes in: an answer is 4xx, never 500, and always JSON."""

from __future__ import annotations

import json

import pytest

from tests.registry.memory_registry import MemoryRegistry

HUGE = "9" * 5_000


@pytest.fixture
def registry() -> MemoryRegistry:
    found = MemoryRegistry()
    found.register("a", '"int"')
    return found


@pytest.mark.parametrize("number", ["0", "-2", "1.0", "2147483648", HUGE, "²", "one", "1e400", "0x1", " 1"])
@pytest.mark.parametrize(
    "path",
    [
        "/subjects/a/versions/{}",
        "/subjects/a/versions/{}/schema",
        "/subjects/a/versions/{}/referencedby",
        "/schemas/ids/{}",
        "/schemas/ids/{}/versions",
    ],
)
def test_numbers_in_paths(registry: MemoryRegistry, path: str, number: str) -> None:
    assert registry.send("GET", path.format(number)).status in (404, 422)


@pytest.mark.parametrize("number", [HUGE, "²", "1.5", "NaN"])
def test_numbers_in_queries(registry: MemoryRegistry, number: str) -> None:
    for name in ("offset", "limit"):
        assert registry.send("GET", f"/subjects?{name}={number}").status == 404
    assert registry.send("GET", f"/subjects?limit={10**30}").status == 200


@pytest.mark.parametrize("number", ["2147483648", "1.0", "1e3", "true", '"1"', "-2", HUGE, "[]"])
@pytest.mark.parametrize(
    "field", ['"id": {}', '"version": {}', '"references": [{{"name": "n", "subject": "a", "version": {}}}]']
)
def test_numbers_in_bodies(registry: MemoryRegistry, field: str, number: str) -> None:
    registry.ask("PUT", "/mode/b", {"mode": "IMPORT"})
    body = f'{{"schema": "\\"long\\"", {field.format(number)}}}'.encode()
    assert registry.send("POST", "/subjects/b/versions", body).status in (400, 422)


def test_ids_have_an_end(registry: MemoryRegistry) -> None:
    registry.ask("PUT", "/mode/b", {"mode": "IMPORT"})
    registry.register("b", '"bytes"', id=2**31 - 1, version=2**31 - 1)
    assert registry.refused("POST", "/subjects/c/versions", {"schema": '"string"'}) == 42205
    registry.ask("PUT", "/mode/b", {"mode": "READWRITE"})
    registry.ask("PUT", "/config/b", {"compatibility": "NONE"})
    assert registry.refused("POST", "/subjects/b/versions", {"schema": '"int"'}) == 42205


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"schema": NaN}', 400),
        (b'{"schema": "\\"int\\"", "metadata": {"x": 1e400}}', 400),
        (b'{"schema": "\\"int\\"", "metadata": {"x": Infinity}}', 400),
        (b'{"schema": "\\ud83d"}', 422),
        (b'{"schema": "{\\"type\\":\\"int\\",\\"x\\":\\"\\\\ud83d\\"}"}', 422),
        (b'{"schema": "{\\"type\\":\\"int\\",\\"x\\":NaN}"}', 422),
        (b'{"schema": "{\\"x\\":\\"\\\\udc00\\"}", "schemaType": "JSON"}', 422),
        (b"\xff\xfe\xfd", 400),
        (b'{"schema": "a" // no\n}', 400),
    ],
)
@pytest.mark.parametrize("path", ["/subjects/a/versions", "/subjects/a", "/compatibility/subjects/a/versions"])
def test_what_is_no_json(registry: MemoryRegistry, path: str, body: bytes, status: int) -> None:
    answer = registry.send("POST", path, body)
    assert answer.status == status
    assert json.loads(answer.body)["message"]


@pytest.mark.parametrize("path", ["/config", "/config/a", "/mode", "/mode/a"])
def test_settings_that_are_no_json(registry: MemoryRegistry, path: str) -> None:
    assert registry.send("PUT", path, b'{"compatibility": NaN}').status == 400
    assert registry.send("PUT", path, b'{"compatibility": "\\ud83d"}').status == 422


def test_schemas_are_as_deep_as_javas_parsers_take_them(registry: MemoryRegistry) -> None:
    text = '"int"'
    for level in range(300):
        text = f'{{"type":"record","name":"R{level}","fields":[{{"name":"f","type":{text}}}]}}'
    registry.register("deep", text)
    assert registry.ask("POST", "/compatibility/subjects/deep/versions", {"schema": text})[1] == {"is_compatible": True}
    assert registry.ask("POST", "/subjects/deep", {"schema": text.replace('"f"', '"f" ')})[1]["version"] == 1
    too_deep = '{"items":' * 1_001 + "true" + "}" * 1_001
    assert registry.refused("POST", "/subjects/b/versions", {"schema": too_deep, "schemaType": "JSON"}) == 42201
