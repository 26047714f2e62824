"""The routes of the registry: map path and method to a function. Reads return a response; writes return a
`RegistryChange`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from kafkapy.http.messages import HttpRequest
from kafkapy.registry.formats import CONFLUENT_TYPES
from kafkapy.registry.reading import SchemaReading
from kafkapy.registry.refusals import INVALID_SCHEMA, RegistryRefusal, version_not_found
from kafkapy.registry.requests import schema_request, version_number
from kafkapy.registry.schema_library import SchemaLibrary
from kafkapy.registry.schema_rules import RegistryChange, SchemaRules
from kafkapy.registry.setting_rules import SettingRules
from kafkapy.registry.state import RegistryState
from kafkapy.registry.subjects import DEFAULT_CONTEXT, checked_subject

Body = Callable[[], Any]
"""Returns the JSON of the request's body; raises RegistryRefusal."""
Action = Callable[["RegistryApi", HttpRequest, tuple[str, ...], Body], Any]


class Route(NamedTuple):
    """One route. `parts`: those of the path, None: a parameter. `writes`: only the primary may serve it."""

    method: str
    parts: tuple[str | None, ...]
    action: Action
    writes: bool = False


class ServerIdentity(NamedTuple):
    cluster_id: str = ""
    group_id: str = "schema-registry"
    version: str = ""


class RegistryApi:
    """Serves requests from the registry's state and rules. No I/O."""

    def __init__(
        self,
        state: RegistryState,
        default_level: str = "BACKWARD",
        mode_mutability: bool = True,
        identity: ServerIdentity | None = None,
    ) -> None:
        default_config = {"compatibilityLevel": default_level}
        library = SchemaLibrary(state)
        self.state = state
        self.identity = identity or ServerIdentity()
        self.rules = SchemaRules(state, library, default_config)
        self.settings = SettingRules(state, default_config, mode_mutability)
        self.reading = SchemaReading(state, library)

    def find(self, request: HttpRequest) -> tuple[Route, tuple[str, ...]]:
        """Return the route and its parameters. Raises RegistryRefusal: 404, or 405 for another method."""
        known = False
        for route in ROUTES:
            if len(route.parts) == len(request.parts):
                pairs = list(zip(route.parts, request.parts, strict=True))
                if all(own in (None, given) for own, given in pairs):
                    known = True
                    if route.method == ("GET" if request.method == "HEAD" else request.method):
                        return route, tuple(given for own, given in pairs if own is None)
        if known:
            raise RegistryRefusal(405, 405, "HTTP 405 Method Not Allowed")
        raise RegistryRefusal(404, 404, "HTTP 404 Not Found")


def page(items: Iterable[Any], request: HttpRequest) -> list[Any]:
    """Return the page of items given by the request's `offset` and `limit`."""
    found = list(items)
    offset, limit = (_number(request, name, default) for name, default in (("offset", 0), ("limit", -1)))
    return found[max(offset, 0) :][: limit if limit >= 0 else None]


def _number(request: HttpRequest, name: str, default: int) -> int:
    try:
        return int(request.query.get(name, default))
    except ValueError:
        raise RegistryRefusal(404, 404, "HTTP 404 Not Found") from None


# -- schemas by id


def _id(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 10:
        raise RegistryRefusal(404, 404, "HTTP 404 Not Found")
    return int(text)


def _by_id(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    subject = request.query.get("subject")
    return api.reading.by_id(_id(parts[0]), subject, request.query.get("format", ""), request.flag("fetchMaxId"))


def _text_by_id(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    found = api.reading.by_id(_id(parts[0]), request.query.get("subject"), request.query.get("format", ""), False)
    return RawText(found["schema"])


class RawText(str):
    """A response that is the plain text of a schema."""


def _subjects_of_id(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    places = api.reading.places_of_id(_id(parts[0]), request.query.get("subject"), request.flag("deleted"))
    return page(dict.fromkeys(subject for subject, _ in places), request)


def _versions_of_id(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    places = api.reading.places_of_id(_id(parts[0]), request.query.get("subject"), request.flag("deleted"))
    return page(({"subject": subject, "version": version} for subject, version in places), request)


def _by_guid(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return api.reading.by_guid(parts[0], request.query.get("format", ""))


def _ids_by_guid(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return [{"context": context, "id": schema_id} for context, schema_id in api.state.ids_by_guid(parts[0])]


def _schemas(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    prefix = request.query.get("subjectPrefix", "")
    found = api.reading.schemas(prefix, request.flag("deleted"), request.flag("latestOnly"))
    return page(found, request)


# -- subjects


def _subjects(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    prefix = request.query.get("subjectPrefix", ":*:")
    return page(api.reading.subjects(prefix, request.flag("deleted"), request.flag("deletedOnly")), request)


def _look_up(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    given, subject = schema_request(body()), checked_subject(parts[0])
    version = api.rules.look_up(subject, given, request.flag("normalize"), request.flag("deleted"))
    return api.reading.told(version, request.query.get("format", ""))


def _versions(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    numbers = api.reading.versions(checked_subject(parts[0]), request.flag("deleted"), request.flag("deletedOnly"))
    return page(numbers, request)


def _version(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    version = api.reading.version(checked_subject(parts[0]), version_number(parts[1]), request.flag("deleted"))
    return api.reading.told(version, request.query.get("format", ""))


def _version_text(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return RawText(_version(api, request, parts, body)["schema"])


def _referenced_by(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    version = api.reading.version(checked_subject(parts[0]), version_number(parts[1]), True)
    users = api.state.referrers(*version.place, deleted=request.flag("deleted"))
    return page(sorted({each.id for each in users}), request)


def _register(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return api.rules.register(parts[0], schema_request(body()), request.flag("normalize"))


def _delete_subject(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return api.rules.delete_subject(checked_subject(parts[0]), request.flag("permanent"))


def _delete_version(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    subject, number = checked_subject(parts[0]), version_number(parts[1])
    return api.rules.delete_version(subject, number, request.flag("permanent"))


# -- compatibility


def _check(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    subject, given = checked_subject(parts[0]), schema_request(body())
    if len(parts) > 1:
        number = version_number(parts[1])
        live = api.state.versions(subject)
        previous = live[-1:] if number is None else [each for each in live if each.version == number]
        if not previous and number is not None:
            raise version_not_found(number)
    else:
        previous = api.state.versions(subject)
    try:
        reasons = api.rules.check(subject, given, previous, request.flag("normalize"))
    except RegistryRefusal as refusal:
        if refusal.code != INVALID_SCHEMA or not request.flag("verbose"):
            raise
        reasons = [refusal.message]  # as in Confluent's registry: verbose responses have the refusal as a reason
    answer: dict[str, Any] = {"is_compatible": not reasons}
    return answer | ({"messages": reasons} if request.flag("verbose") else {})


# -- settings


def _setting(parts: tuple[str, ...]) -> str | None:
    return parts[0] if parts else None


def _get_config(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return api.settings.get_config(_setting(parts), request.flag("defaultToGlobal"))


def _put_config(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return api.settings.put_config(_setting(parts), body())


def _delete_config(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return api.settings.delete_config(_setting(parts))


def _get_mode(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return api.settings.get_mode(_setting(parts), request.flag("defaultToGlobal"))


def _put_mode(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return api.settings.put_mode(_setting(parts), body(), request.flag("force"))


def _delete_mode(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return api.settings.delete_mode(_setting(parts), request.flag("recursive"))


def _contexts(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return page([DEFAULT_CONTEXT, *api.state.contexts], request)


def _delete_context(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> RegistryChange:
    return api.settings.delete_context(parts[0])


# -- the server


def _cluster(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    clusters = {"kafka-cluster": api.identity.cluster_id, "schema-registry-cluster": api.identity.group_id}
    return {"scope": {"path": [], "clusters": clusters}}


def _server_version(api: RegistryApi, request: HttpRequest, parts: tuple[str, ...], body: Body) -> Any:
    return {"version": api.identity.version, "commitId": ""}


ROUTES = [
    Route("GET", (), lambda api, request, parts, body: {}),
    Route("POST", (), lambda api, request, parts, body: {}),
    Route("GET", ("schemas",), _schemas),
    Route("GET", ("schemas", "types"), lambda api, request, parts, body: list(CONFLUENT_TYPES)),
    Route("GET", ("schemas", "ids", None), _by_id),
    Route("GET", ("schemas", "ids", None, "schema"), _text_by_id),
    Route("GET", ("schemas", "ids", None, "subjects"), _subjects_of_id),
    Route("GET", ("schemas", "ids", None, "versions"), _versions_of_id),
    Route("GET", ("schemas", "guids", None), _by_guid),
    Route("GET", ("schemas", "guids", None, "ids"), _ids_by_guid),
    Route("GET", ("subjects",), _subjects),
    Route("POST", ("subjects", None), _look_up),
    Route("DELETE", ("subjects", None), _delete_subject, True),
    Route("GET", ("subjects", None, "versions"), _versions),
    Route("POST", ("subjects", None, "versions"), _register, True),
    Route("GET", ("subjects", None, "versions", None), _version),
    Route("DELETE", ("subjects", None, "versions", None), _delete_version, True),
    Route("GET", ("subjects", None, "versions", None, "schema"), _version_text),
    Route("GET", ("subjects", None, "versions", None, "referencedby"), _referenced_by),
    Route("POST", ("compatibility", "subjects", None, "versions"), _check),
    Route("POST", ("compatibility", "subjects", None, "versions", None), _check),
    Route("GET", ("config",), _get_config),
    Route("PUT", ("config",), _put_config, True),
    Route("DELETE", ("config",), _delete_config, True),
    Route("GET", ("config", None), _get_config),
    Route("PUT", ("config", None), _put_config, True),
    Route("DELETE", ("config", None), _delete_config, True),
    Route("GET", ("mode",), _get_mode),
    Route("PUT", ("mode",), _put_mode, True),
    Route("DELETE", ("mode",), _delete_mode, True),
    Route("GET", ("mode", None), _get_mode),
    Route("PUT", ("mode", None), _put_mode, True),
    Route("DELETE", ("mode", None), _delete_mode, True),
    Route("GET", ("contexts",), _contexts),
    Route("DELETE", ("contexts", None), _delete_context, True),
    Route("GET", ("v1", "metadata", "id"), _cluster),
    Route("GET", ("v1", "metadata", "version"), _server_version),
]
