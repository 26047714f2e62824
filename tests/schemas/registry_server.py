"""A schema registry in this process that answers as Confluent's does, for what clients ask."""

from __future__ import annotations

import hashlib
import json
import re
import ssl
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from uuid import UUID


class RefusedError(Exception):
    def __init__(self, status: int, code: int, message: str) -> None:
        super().__init__(message)
        self.answer = status, {"error_code": code, "message": message}


@dataclass
class Version:
    number: int
    schema_id: int
    deleted: bool = False


@dataclass
class RegistryState:
    """Schemas, subjects, configs; `failures` are answered first, one to a request; `requests` is what was asked."""

    schemas: dict[int, dict[str, Any]] = field(default_factory=dict)
    subjects: dict[str, list[Version]] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=lambda: {"": "BACKWARD"})
    modes: dict[str, str] = field(default_factory=lambda: {"": "READWRITE"})
    failures: deque[tuple[int, Any]] = field(default_factory=deque)
    requests: list[str] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    authorization: str | None = None
    barrier: Callable[[], object] = lambda: None
    lock: threading.RLock = field(default_factory=threading.RLock)

    # -- schemas

    def register(self, subject: str, body: dict[str, Any], normalize: bool = False) -> dict[str, Any]:
        if self.modes.get(subject, self.modes[""]) == "READONLY":
            raise RefusedError(422, 42205, f"Subject {subject} is in read-only mode")
        found = self.find(subject, body, normalize)
        if found is not None:
            return {"id": found.schema_id}
        schema = self.parsed(body, normalize)
        wrong = self.incompatible(subject, schema, None)
        if wrong:
            raise RefusedError(
                409,
                409,
                f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: {wrong}',
            )
        schema_id = next((known for known, other in self.schemas.items() if other == schema), len(self.schemas) + 1)
        self.schemas[schema_id] = schema
        versions = self.subjects.setdefault(subject, [])
        versions.append(Version(versions[-1].number + 1 if versions else 1, schema_id))
        return {"id": schema_id}

    def parsed(self, body: dict[str, Any], normalize: bool) -> dict[str, Any]:
        kind, text = body.get("schemaType", "AVRO"), body["schema"]
        if kind in ("AVRO", "JSON"):
            try:
                content = json.loads(text)
            except ValueError:
                raise RefusedError(422, 42201, f"Invalid schema {text}") from None
            if normalize:
                text = json.dumps(content, sort_keys=True, separators=(",", ":"))
        for reference in body.get("references", ()):
            self.version(reference["subject"], reference["version"])
        return {"schemaType": kind, "schema": text, "references": list(body.get("references", ()))}

    def find(self, subject: str, body: dict[str, Any], normalize: bool) -> Version | None:
        schema = self.parsed(body, normalize)
        live = [version for version in self.subjects.get(subject, ()) if not version.deleted]
        return next((version for version in live if self.schemas[version.schema_id] == schema), None)

    def incompatible(self, subject: str, schema: dict[str, Any], version: str | None) -> list[str]:
        """A new field without a default, as BACKWARD has it; a new type."""
        live = [found for found in self.subjects.get(subject, ()) if not found.deleted]
        if not live or self.configs.get(subject, self.configs[""]) == "NONE" or schema["schemaType"] != "AVRO":
            return []
        before = self.schemas[(self.version(subject, version) if version else live[-1]).schema_id]
        old, new = json.loads(before["schema"]), json.loads(schema["schema"])
        if not isinstance(old, dict) or not isinstance(new, dict):
            return [] if old == new else ["TYPE_MISMATCH"]
        had = {each["name"] for each in old.get("fields", ())}
        added = [each for each in new.get("fields", ()) if each["name"] not in had and "default" not in each]
        return [f"READER_FIELD_MISSING_DEFAULT_VALUE: {each['name']}" for each in added]

    def version(self, subject: str, wanted: Any, deleted: bool = False) -> Version:
        versions = [found for found in self.subjects.get(subject, ()) if deleted or not found.deleted]
        if not versions:
            raise RefusedError(404, 40401, f"Subject '{subject}' not found.")
        if wanted == "latest":
            return versions[-1]
        if not str(wanted).isdigit() or int(wanted) < 1:
            raise RefusedError(422, 42202, f"The specified version '{wanted}' is not a valid version id.")
        found = next((each for each in versions if each.number == int(wanted)), None)
        if found is None:
            raise RefusedError(404, 40402, f"Version {wanted} not found.")
        return found

    def by_id(self, schema_id: int) -> dict[str, Any]:
        if schema_id not in self.schemas:
            raise RefusedError(404, 40403, f"Schema {schema_id} not found")
        return _as_answer(self.schemas[schema_id])

    def by_guid(self, guid: str) -> dict[str, Any]:
        for schema in self.schemas.values():
            if guid_of(schema) == guid:
                return _as_answer(schema)
        raise RefusedError(404, 40403, f"Schema {guid} not found")

    def registered(self, subject: str, version: Version) -> dict[str, Any]:
        return {
            "subject": subject,
            "version": version.number,
            "id": version.schema_id,
            **_as_answer(self.schemas[version.schema_id]),
        }


def guid_of(schema: dict[str, Any]) -> str:
    return str(UUID(bytes=hashlib.md5(json.dumps(schema, sort_keys=True).encode()).digest()))


def _as_answer(schema: dict[str, Any]) -> dict[str, Any]:
    """What is AVRO, or empty, is left out."""
    answer = {"schema": schema["schema"], "guid": guid_of(schema)}
    if schema["schemaType"] != "AVRO":
        answer["schemaType"] = schema["schemaType"]
    if schema["references"]:
        answer["references"] = schema["references"]
    return answer


Query = dict[str, str]
Route = Callable[[RegistryState, list[str], Query, Any], Any]


def _subjects(state: RegistryState, parts: list[str], query: Query, body: Any) -> Any:
    prefix = query.get("subjectPrefix", "")
    deleted = query.get("deleted") == "true"
    return [
        name
        for name, versions in state.subjects.items()
        if name.startswith(prefix) and any(deleted or not version.deleted for version in versions)
    ]


def _look_up(state: RegistryState, parts: list[str], query: Query, body: Any) -> Any:
    (subject,) = parts
    state.version(subject, "latest")
    found = state.find(subject, body, query.get("normalize") == "true")
    if found is None:
        raise RefusedError(404, 40403, "Schema not found")
    return state.registered(subject, found)


def _delete_subject(state: RegistryState, parts: list[str], query: Query, body: Any) -> Any:
    (subject,) = parts
    if query.get("permanent") == "true":
        if any(not version.deleted for version in state.subjects.get(subject, ())):
            raise RefusedError(
                404, 40405, f"Subject '{subject}' was not deleted first before being permanently deleted"
            )
        return [version.number for version in state.subjects.pop(subject)]
    state.version(subject, "latest")
    live = [version for version in state.subjects[subject] if not version.deleted]
    for version in live:
        version.deleted = True
    return [version.number for version in live]


def _delete_version(state: RegistryState, parts: list[str], query: Query, body: Any) -> Any:
    found = state.version(parts[0], parts[1], deleted=query.get("permanent") == "true")
    if query.get("permanent") == "true":
        state.subjects[parts[0]].remove(found)
    found.deleted = True
    return found.number


def _compatibility(state: RegistryState, parts: list[str], query: Query, body: Any) -> Any:
    subject, version = parts[0], parts[1] if len(parts) > 1 else None
    state.version(subject, version or "latest")
    messages = state.incompatible(subject, state.parsed(body, False), version)
    return {"is_compatible": not messages, **({"messages": messages} if query.get("verbose") == "true" else {})}


def _get_setting(name: str, key: str, code: int) -> Route:
    def get(state: RegistryState, parts: list[str], query: Query, body: Any) -> Any:
        settings: dict[str, str] = getattr(state, name)
        subject = parts[0] if parts else ""
        if subject not in settings and query.get("defaultToGlobal") != "true":
            raise RefusedError(404, code, f"Subject '{subject}' does not have subject-level {name} configured")
        return {key: settings.get(subject, settings[""])}

    return get


def _put_setting(name: str, key: str) -> Route:
    def put(state: RegistryState, parts: list[str], query: Query, body: Any) -> Any:
        levels = ("NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FULL")
        if key == "compatibility" and body[key] not in levels:
            raise RefusedError(422, 42203, "Invalid compatibility level")
        getattr(state, name)[parts[0] if parts else ""] = body[key]
        return body

    return put


def _delete_setting(name: str, key: str) -> Route:
    return lambda state, parts, query, body: {key: getattr(state, name).pop(parts[0])}


def _versions(state: RegistryState, parts: list[str], query: Query, body: Any) -> Any:
    deleted = query.get("deleted") == "true"
    state.version(parts[0], "latest", deleted)
    return [version.number for version in state.subjects[parts[0]] if deleted or not version.deleted]


def _referenced_by(state: RegistryState, parts: list[str], query: Query, body: Any) -> Any:
    number = state.version(parts[0], parts[1]).number
    return [
        schema_id
        for schema_id, schema in state.schemas.items()
        if any((each["subject"], each["version"]) == (parts[0], number) for each in schema["references"])
    ]


def _users(state: RegistryState, schema_id: str) -> list[dict[str, Any]]:
    state.by_id(int(schema_id))
    return [
        {"subject": name, "version": version.number}
        for name, versions in state.subjects.items()
        for version in versions
        if version.schema_id == int(schema_id) and not version.deleted
    ]


def _contexts(state: RegistryState, parts: list[str], query: Query, body: Any) -> Any:
    return sorted({"."} | {name.split(":")[1] for name in state.subjects if name.startswith(":.")})


S = "([^/]+)"
ROUTES: dict[str, Route] = {
    "GET /subjects": _subjects,
    "GET /schemas/types": lambda state, parts, query, body: ["JSON", "PROTOBUF", "AVRO"],
    "GET /contexts": _contexts,
    f"GET /schemas/ids/{S}": lambda state, parts, query, body: state.by_id(int(parts[0])),
    f"GET /schemas/guids/{S}": lambda state, parts, query, body: state.by_guid(parts[0]),
    f"GET /schemas/ids/{S}/versions": lambda state, parts, query, body: _users(state, parts[0]),
    f"GET /schemas/ids/{S}/subjects": lambda state, parts, query, body: [
        user["subject"] for user in _users(state, parts[0])
    ],
    f"POST /subjects/{S}": _look_up,
    f"DELETE /subjects/{S}": _delete_subject,
    f"GET /subjects/{S}/versions": _versions,
    f"POST /subjects/{S}/versions": lambda state, parts, query, body: state.register(
        parts[0], body, query.get("normalize") == "true"
    ),
    f"GET /subjects/{S}/versions/{S}": lambda state, parts, query, body: state.registered(
        parts[0], state.version(parts[0], parts[1], deleted=query.get("deleted") == "true")
    ),
    f"DELETE /subjects/{S}/versions/{S}": _delete_version,
    f"GET /subjects/{S}/versions/{S}/referencedby": _referenced_by,
    f"POST /compatibility/subjects/{S}/versions": _compatibility,
    f"POST /compatibility/subjects/{S}/versions/{S}": _compatibility,
    "GET /config": _get_setting("configs", "compatibilityLevel", 40408),
    f"GET /config/{S}": _get_setting("configs", "compatibilityLevel", 40408),
    "PUT /config": _put_setting("configs", "compatibility"),
    f"PUT /config/{S}": _put_setting("configs", "compatibility"),
    f"DELETE /config/{S}": _delete_setting("configs", "compatibility"),
    "GET /mode": _get_setting("modes", "mode", 40409),
    f"GET /mode/{S}": _get_setting("modes", "mode", 40409),
    "PUT /mode": _put_setting("modes", "mode"),
    f"PUT /mode/{S}": _put_setting("modes", "mode"),
    f"DELETE /mode/{S}": _delete_setting("modes", "mode"),
}


def answer(state: RegistryState, method: str, target: str, body: Any) -> tuple[int, Any]:
    parts = urlsplit(target)
    query = {name: values[-1] for name, values in parse_qs(parts.query).items()}
    for route, serve in ROUTES.items():
        matched = re.fullmatch(route, f"{method} {parts.path}")
        if matched:
            try:
                return 200, serve(state, [unquote(part) for part in matched.groups()], query, body)
            except RefusedError as error:
                return error.answer
    return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}


class RegistryServer(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, tls: ssl.SSLContext | None = None, port: int = 0) -> None:
        self.state = RegistryState()
        self.connections = 0
        super().__init__(("127.0.0.1", port), _Handler)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_side=True)
        self.url = f"{'http' if tls is None else 'https'}://localhost:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that hang up are none of the tests' business."""


class _Handler(BaseHTTPRequestHandler):
    server: RegistryServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def setup(self) -> None:
        super().setup()
        self.server.connections += 1

    def _serve(self) -> None:
        state = self.server.state
        size = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(size)) if size else None
        state.barrier()
        with state.lock:
            state.requests.append(f"{self.command} {self.path}")
            state.authorizations.append(self.headers.get("Authorization"))
            if state.failures:
                status, content = state.failures.popleft()
            elif state.authorization is not None and self.headers.get("Authorization") != state.authorization:
                status, content = 401, {"error_code": 401, "message": "Unauthorized"}
            else:
                status, content = answer(state, self.command, self.path, body)
        encoded = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
        self.send_header("Content-Length", str(len(encoded)))
        self.end_headers()
        self.wfile.write(encoded)

    do_GET = do_POST = do_PUT = do_DELETE = _serve

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def running_registry(tls: ssl.SSLContext | None = None, port: int = 0) -> Iterator[RegistryServer]:
    server = RegistryServer(tls, port)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
