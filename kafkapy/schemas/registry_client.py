"""The client of a schema registry (Confluent's REST interface)."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self
from urllib.parse import quote, unquote, urlencode

from kafkapy.errors import KafkaConfigurationError
from kafkapy.schemas.bounded_cache import BoundedCache
from kafkapy.schemas.http_transport import HttpTransport, RegistryNode, RetryPolicy
from kafkapy.schemas.types import RegisteredSchema, Schema

Version = int | str
"""A number from 1 on, or "latest"."""

_CONFLUENT_NAMES = {
    "url": "url",
    "basic.auth.user.info": "basic_auth_user_info",
    "bearer.auth.token": "bearer_auth_token",
    "ssl.ca.location": "ssl_cafile",
    "ssl.certificate.location": "ssl_certfile",
    "ssl.key.location": "ssl_keyfile",
    "ssl.key.password": "ssl_password",
    "max.retries": "max_retries",
    "retries.wait.ms": "retries_wait_ms",
    "retries.max.wait.ms": "retries_max_wait_ms",
    "cache.capacity": "cache_capacity",
    "cache.latest.ttl.sec": "cache_latest_ttl_s",
}


class SchemaRegistryClient:
    """Sends requests to a schema registry, and caches immutable results. Thread-safe; the methods block.

    Methods have confluent-kafka's names. They raise SchemaRegistryError with the registry's code and text,
    and SchemaRegistryUnavailableError if no node answers. A subject may have a context: `:.context:subject`.

    Args:
        url: One URL, several, or several with commas between; the next is asked if one fails.
        basic_auth_user_info: "user:password". None (default): as in the URL.
        bearer_auth_token: A token, or a function that returns one for each request. None (default): none.
        ssl_cafile: PEM file of trusted certificates. None (default): the system's.
        ssl_certfile: PEM file of the client's certificate. None (default): none.
        ssl_keyfile: PEM file of its key. None (default): in `ssl_certfile`.
        ssl_password: Password of the key. None (default): none.
        ssl_check_hostname: Whether the certificate must name the host. Default True.
        ssl_context: Replaces the options before. None (default): built from them. timeout_ms: Limit for connecting and
            for each read, in ms. Default 10,000.
        max_retries: Rounds through all URLs after the first, for failed connections and answers with 408, 429 and 5xx.
            Default 3.
        retries_wait_ms: Pause before the first retry, in ms; it doubles. Default 200.
        retries_max_wait_ms: The longest pause, in ms. Default 5,000.
        cache_capacity: Number of schemas that are kept. Default 1,000.
        cache_latest_ttl_s: How long the latest version of a subject is kept, in seconds. None (default): for ever.

    Raises:
        KafkaConfigurationError: Options contradict each other.
        OSError: A certificate cannot be read.

    Example:
        >>> client = SchemaRegistryClient("http://localhost:8081")
        >>> client.cached_latest("clicks-value") is None
        True
    """

    def __init__(
        self,
        url: str | Sequence[str],
        *,
        basic_auth_user_info: str | None = None,
        bearer_auth_token: str | Callable[[], str] | None = None,
        ssl_cafile: str | None = None,
        ssl_certfile: str | None = None,
        ssl_keyfile: str | None = None,
        ssl_password: str | None = None,
        ssl_check_hostname: bool = True,
        ssl_context: ssl.SSLContext | None = None,
        timeout_ms: float = 10_000,
        max_retries: int = 3,
        retries_wait_ms: float = 200,
        retries_max_wait_ms: float = 5_000,
        cache_capacity: int = 1_000,
        cache_latest_ttl_s: float | None = None,
    ) -> None:
        self._options = {name: value for name, value in locals().items() if name not in ("self", "__class__")}
        urls = [part.strip() for given in ([url] if isinstance(url, str) else url) for part in given.split(",")]
        if basic_auth_user_info is not None and bearer_auth_token is not None:
            raise KafkaConfigurationError("Give basic_auth_user_info or bearer_auth_token, not both")
        if ssl_context is None and any(part.startswith("https") for part in urls):
            ssl_context = _tls(ssl_cafile, ssl_certfile, ssl_keyfile, ssl_password, ssl_check_hostname)
        try:
            nodes = [RegistryNode(part, timeout_ms / 1000, ssl_context) for part in urls]
        except ValueError as error:
            raise KafkaConfigurationError(str(error)) from None
        self._basic = basic_auth_user_info
        self._token = bearer_auth_token
        self.urls = [node.url for node in nodes]
        policy = RetryPolicy(max_retries, retries_wait_ms, retries_max_wait_ms)
        self._transport = HttpTransport(nodes, policy, self._authorization)
        self._schemas: BoundedCache[tuple[str, int | str], Schema] = BoundedCache(cache_capacity)
        self._ids: BoundedCache[tuple[str, Schema, bool], int] = BoundedCache(cache_capacity)
        self._versions: BoundedCache[tuple[str, int, str], RegisteredSchema] = BoundedCache(cache_capacity)
        self._latest: BoundedCache[str, RegisteredSchema] = BoundedCache(cache_capacity, cache_latest_ttl_s)

    @classmethod
    def from_conf(cls, conf: Mapping[str, Any]) -> SchemaRegistryClient:
        """Build a client from confluent-kafka's configuration, with its dotted names. Raises KafkaConfigurationError
        for others.

        Args:
            conf: Options by confluent-kafka's names, for example `{"url": "http://localhost:8081"}`.
        """
        unknown = sorted(conf.keys() - _CONFLUENT_NAMES.keys() - {"timeout"})
        if unknown:
            raise KafkaConfigurationError(f"Unknown in a schema registry's configuration: {', '.join(unknown)}")
        options = {_CONFLUENT_NAMES[name]: value for name, value in conf.items() if name != "timeout"}
        if conf.get("timeout") is not None:
            options["timeout_ms"] = conf["timeout"] * 1000
        return cls(**options)

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (self._options,)

    def close(self) -> None:
        """Close idle connections. The client remains usable."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()

    def clear_caches(self) -> None:
        self._schemas.clear()
        self._forget()

    # -- schemas

    def register_schema(self, subject: str, schema: Schema, normalize_schemas: bool = False) -> int:
        """Register a schema as a new version of the subject, unless it is one already; return its id. Code 409: it is
        incompatible.

        Args:
            subject: Name of the subject.
            schema: The schema.
            normalize_schemas: Compare in the registry's normal form. Default False.
        """
        key = subject, schema, normalize_schemas
        known = self._ids.get(key)
        if known is not None:
            return known
        answer = self._post(_path("subjects", subject, "versions"), schema, normalize=normalize_schemas)
        schema_id: int = answer["id"]
        return self._ids.put(key, schema_id)

    def lookup_schema(
        self, subject: str, schema: Schema, normalize_schemas: bool = False, deleted: bool = False
    ) -> RegisteredSchema:
        """Return the version with this schema. Codes 40401 and 40403: unknown subject; schema not in the subject.

        Args:
            subject: Name of the subject.
            schema: The schema.
            normalize_schemas: Compare in the registry's normal form. Default False.
            deleted: Take deleted versions into account, too. Default False.
        """
        answer = self._post(_path("subjects", subject), schema, normalize=normalize_schemas, deleted=deleted)
        found = RegisteredSchema.from_json(answer)
        if not deleted:
            self._ids.put((subject, schema, normalize_schemas), found.schema_id)
        return found

    def get_schema(self, schema_id: int, subject: str | None = None, fmt: str | None = None) -> Schema:
        """Return the schema with an id. Code 40403: the id is unknown.

        Args:
            schema_id: Id of the schema.
            subject: A subject of the context. None (default): the default context.
            fmt: Format of the answer, for example "serialized". None (default): the text as it was registered.
        """
        context = _context(subject)
        key = f"{context or ''}/{fmt or ''}", schema_id
        known = self._schemas.get(key)
        if known is not None:
            return known
        path = _path("schemas", "ids", schema_id)
        return self._schemas.put(key, Schema.from_json(self._get(path, subject=context, format=fmt)))

    def cached_schema(self, schema_id: int, subject: str | None = None) -> Schema | None:
        """Return the result of `get_schema` from the cache; None if it is not cached.

        Args:
            schema_id: Id of the schema.
            subject: A subject of the context. None (default): the default context.
        """
        return self._schemas.get((f"{_context(subject) or ''}/", schema_id))

    def cached_latest(self, subject: str) -> RegisteredSchema | None:
        """Return the result of `get_latest_version` from the cache; None if it is not cached.

        Args:
            subject: Name of the subject.
        """
        return self._latest.get(subject)

    def get_schema_by_guid(self, guid: str, fmt: str | None = None) -> Schema:
        """Return the schema with this GUID.

        Args:
            guid: GUID of the schema.
            fmt: Format of the answer, for example "serialized". None (default): the text as it was registered.
        """
        key = fmt or "", guid
        known = self._schemas.get(key)
        if known is not None:
            return known
        return self._schemas.put(key, Schema.from_json(self._get(_path("schemas", "guids", guid), format=fmt)))

    def get_schema_types(self) -> list[str]:
        return list(self._get("/schemas/types"))

    def get_subjects_by_schema_id(self, schema_id: int, deleted: bool = False) -> list[str]:
        """Return the subjects that have the schema.

        Args:
            schema_id: Id of the schema.
            deleted: Take deleted versions into account, too. Default False.
        """
        return list(self._get(_path("schemas", "ids", schema_id, "subjects"), deleted=deleted))

    def get_schema_versions(self, schema_id: int, deleted: bool = False) -> list[tuple[str, int]]:
        """Return the subjects and versions that have the id.

        Args:
            schema_id: Id of the schema.
            deleted: Take deleted versions into account, too. Default False.
        """
        found = self._get(_path("schemas", "ids", schema_id, "versions"), deleted=deleted)
        return [(each["subject"], each["version"]) for each in found]

    # -- subjects and versions

    def get_subjects(self, subject_prefix: str | None = None, deleted: bool = False) -> list[str]:
        """Return the names of the subjects.

        Args:
            subject_prefix: What names begin with. None (default): all.
            deleted: Take deleted versions into account, too. Default False.
        """
        return list(self._get("/subjects", subjectPrefix=subject_prefix, deleted=deleted))

    def get_versions(self, subject: str, deleted: bool = False) -> list[int]:
        """Return the versions of a subject.

        Args:
            subject: Name of the subject.
            deleted: Take deleted versions into account, too. Default False.
        """
        return list(self._get(_path("subjects", subject, "versions"), deleted=deleted))

    def get_version(
        self, subject: str, version: Version, deleted: bool = False, fmt: str | None = None
    ) -> RegisteredSchema:
        """Return a version. Codes 40401, 40402 and 42202: unknown subject, unknown version, invalid version.

        Args:
            subject: Name of the subject.
            version: Number of the version, or "latest".
            deleted: Take deleted versions into account, too. Default False.
            fmt: Format of the answer, for example "serialized". None (default): the text as it was registered.
        """
        if version in ("latest", -1):
            return self.get_latest_version(subject)
        key = subject, int(version), fmt or ""
        known = self._versions.get(key)
        if known is not None:
            return known
        path = _path("subjects", subject, "versions", version)
        found = RegisteredSchema.from_json(self._get(path, deleted=deleted, format=fmt))
        return self._versions.put(key, found)

    def get_latest_version(self, subject: str) -> RegisteredSchema:
        """Return the latest version of a subject.

        Args:
            subject: Name of the subject.
        """
        known = self._latest.get(subject)
        if known is not None:
            return known
        answer = self._get(_path("subjects", subject, "versions", "latest"))
        return self._latest.put(subject, RegisteredSchema.from_json(answer))

    def get_referenced_by(self, subject: str, version: Version) -> list[int]:
        """Return the ids of the schemas that refer to this one.

        Args:
            subject: Name of the subject.
            version: Number of the version, or "latest".
        """
        return list(self._get(_path("subjects", subject, "versions", version, "referencedby")))

    def delete_subject(self, subject: str, permanent: bool = False) -> list[int]:
        """Delete a subject; return its versions. `permanent`: the subject must have been soft-deleted before.

        Args:
            subject: Name of the subject.
            permanent: Delete for good what was deleted before. Default False.
        """
        self._forget()
        return list(self._request("DELETE", _path("subjects", subject), permanent=permanent))

    def delete_version(self, subject: str, version: Version, permanent: bool = False) -> int:
        """Delete a version; return its number.

        Args:
            subject: Name of the subject.
            version: Number of the version, or "latest".
            permanent: Delete for good what was deleted before. Default False.
        """
        self._forget()
        path = _path("subjects", subject, "versions", version)
        return int(self._request("DELETE", path, permanent=permanent))

    # -- compatibility

    def test_compatibility(
        self, subject: str, schema: Schema, version: Version | None = "latest", normalize_schemas: bool = False
    ) -> bool:
        """Return whether a schema is compatible with a version (None: with all that the level requires).

        Args:
            subject: Name of the subject.
            schema: The schema.
            version: Number of the version, or "latest" (default); None: all.
            normalize_schemas: Compare in the registry's normal form. Default False.
        """
        return not self.compatibility_messages(subject, schema, version, normalize_schemas)

    def compatibility_messages(
        self, subject: str, schema: Schema, version: Version | None = "latest", normalize_schemas: bool = False
    ) -> list[str]:
        """Return why a schema is incompatible; empty if it is compatible.

        Args:
            subject: Name of the subject.
            schema: The schema.
            version: Number of the version, or "latest" (default); None: all.
            normalize_schemas: Compare in the registry's normal form. Default False.
        """
        path = _path("compatibility", "subjects", subject, "versions", *([] if version is None else [version]))
        answer = self._post(path, schema, normalize=normalize_schemas, verbose=True)
        if answer["is_compatible"]:
            return []
        return list(answer.get("messages") or ["The registry gives no reason"])

    def get_compatibility(self, subject: str | None = None) -> str:
        """Return the level (BACKWARD, FULL_TRANSITIVE …); the registry's for a subject without its own.

        Args:
            subject: Name of the subject. None (default): the registry as a whole.
        """
        config = self.get_config(subject)
        return str(config.get("compatibilityLevel") or config.get("compatibility"))

    def set_compatibility(self, level: str, subject: str | None = None) -> str:
        """Set the level; return it.

        Args:
            level: The level, for example "BACKWARD".
            subject: Name of the subject. None (default): the registry as a whole.
        """
        return str(self.set_config({"compatibility": level}, subject)["compatibility"])

    # -- config and mode

    def get_config(self, subject: str | None = None) -> dict[str, Any]:
        """Return the settings.

        Args:
            subject: Name of the subject. None (default): the registry as a whole.
        """
        if subject is None:
            return dict(self._get("/config"))
        return dict(self._get(_path("config", subject), defaultToGlobal=True))

    def set_config(self, config: Mapping[str, Any], subject: str | None = None) -> dict[str, Any]:
        """Set settings; return them.

        Args:
            config: Settings by name, for example `{"compatibility": "FULL"}`.
            subject: Name of the subject. None (default): the registry as a whole.
        """
        path = "/config" if subject is None else _path("config", subject)
        return dict(self._transport.request("PUT", path, config))

    def delete_config(self, subject: str | None = None) -> dict[str, Any]:
        """Delete the subject's settings, so that the registry's apply.

        Args:
            subject: Name of the subject. None (default): the registry as a whole.
        """
        return dict(self._request("DELETE", "/config" if subject is None else _path("config", subject)))

    def get_mode(self, subject: str | None = None) -> str:
        """READWRITE, READONLY or IMPORT.

        Args:
            subject: Name of the subject. None (default): the registry as a whole.
        """
        if subject is None:
            return str(self._get("/mode")["mode"])
        return str(self._get(_path("mode", subject), defaultToGlobal=True)["mode"])

    def set_mode(self, mode: str, subject: str | None = None, force: bool = False) -> str:
        """Set the mode; return it.

        Args:
            mode: READWRITE, READONLY or IMPORT.
            subject: Name of the subject. None (default): the registry as a whole.
            force: Allow IMPORT although there are schemas. Default False.
        """
        path = ("/mode" if subject is None else _path("mode", subject)) + _query(force=force)
        return str(self._transport.request("PUT", path, {"mode": mode})["mode"])

    def delete_mode(self, subject: str) -> str:
        """Delete the subject's mode, so that the registry's applies.

        Args:
            subject: Name of the subject.
        """
        return str(self._request("DELETE", _path("mode", subject))["mode"])

    def get_contexts(self) -> list[str]:
        return list(self._get("/contexts"))

    # -- inside

    def _get(self, path: str, **query: object) -> Any:
        return self._request("GET", path, **query)

    def _request(self, method: str, path: str, **query: object) -> Any:
        return self._transport.request(method, path + _query(**query))

    def _post(self, path: str, schema: Schema, **query: object) -> Any:
        return self._transport.request("POST", path + _query(**query), schema.to_json())

    def _forget(self) -> None:
        """Drop cached ids and versions, which may have been deleted; a schema by its id never changes."""
        self._ids.clear()
        self._versions.clear()
        self._latest.clear()

    def _authorization(self, node: RegistryNode) -> str | None:
        if self._token is not None:
            return f"Bearer {self._token if isinstance(self._token, str) else self._token()}"
        user_info = self._basic
        if user_info is None and node.credentials is not None:
            user_info = ":".join(map(unquote, node.credentials))
        return None if user_info is None else f"Basic {base64.b64encode(user_info.encode()).decode()}"


def _again(options: dict[str, Any]) -> SchemaRegistryClient:
    return SchemaRegistryClient(**options)


def _path(*parts: object) -> str:
    return "".join("/" + quote(str(part), safe="") for part in parts)


def _query(**parameters: object) -> str:
    given = {
        name: "true" if value is True else value
        for name, value in parameters.items()
        if value is not None and value is not False
    }
    return f"?{urlencode(given)}" if given else ""


def _context(subject: str | None) -> str | None:
    """Return the parameter for looking up an id: the context, as a subject without a name; None for the default
    one."""
    if subject is None or not subject.startswith(":."):
        return None
    end = subject.find(":", 1)
    return subject if end < 0 else subject[: end + 1]


def _tls(
    cafile: str | None, certfile: str | None, keyfile: str | None, password: str | None, check_hostname: bool
) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=cafile)
    context.check_hostname = check_hostname
    if certfile is not None:
        context.load_cert_chain(certfile, keyfile, password)
    return context
