"""Reads records from answers to HTTP requests (Confluent's `HttpSourceConnector`)."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urljoin, urlsplit

from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.http.bounded import send_bounded
from kafkapy.connect.connectors.http.client_config import make_client, parse_headers, pause_ms, status_codes
from kafkapy.connect.connectors.http.json_pointers import value_at
from kafkapy.connect.connectors.http.pages import LINK, SIMPLE, SNAPSHOT, PageAnswer, PagePosition, Paging
from kafkapy.connect.connectors.http.source_config import check_source, source_definitions
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.connectors.unused_configs import warn_of_unused
from kafkapy.connect.errors import ConnectException, RetriableException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SourceRecord
from kafkapy.connect.source import ExactlyOnceSupport, SourceConnector, SourceTask

if TYPE_CHECKING:
    import httpx

log = logging.getLogger("kafkapy.connect.connectors.http")

_LONGEST_WAIT_MS = 1000.0
ENTITIES = "entity.names"


class HttpSourceConnector(SourceConnector):
    """Reads records from `url`; the configs are in docs/connect_http.md.

    Example:
        >>> connector = HttpSourceConnector()
        >>> config = {"url": "http://localhost/${entityName}", "topic.name.pattern": "${entityName}", "entity.names": "a,b"}
        >>> connector.start(config)
        >>> [task["entity.names"] for task in connector.task_configs(5)]
        ['a', 'b']
    """

    java_class = "io.confluent.connect.http.HttpSourceConnector"

    def version(self) -> str:
        return VERSION

    def check(self, config: Mapping[str, str]) -> None:
        require("connect-http", "httpx", "A connector to an HTTP service")
        check_source(self.config().parse(config))

    def start(self, config: Mapping[str, str]) -> None:
        self.check(config)
        definitions = self.config()
        warn_of_unused(config, definitions)
        self._config = dict(config)
        self._entities: list[str] = definitions.parse(config)[ENTITIES]

    def task_class(self) -> type[SourceTask]:
        return HttpSourceTask

    def task_configs(self, max_tasks: int) -> Sequence[Mapping[str, str]]:
        count = min(max_tasks, len(self._entities))
        return [{**self._config, ENTITIES: ",".join(self._entities[number::count])} for number in range(count)]

    def stop(self) -> None:
        pass

    def config(self) -> ConfigDef:
        return source_definitions()

    def exactly_once_support(self, config: Mapping[str, str]) -> ExactlyOnceSupport:
        """Supported where an offset says which records were read, unless the service changes pages afterwards."""
        is_snapshot = self.config().parse(config)["http.offset.mode"] == SNAPSHOT
        return ExactlyOnceSupport.UNSUPPORTED if is_snapshot else ExactlyOnceSupport.SUPPORTED

    def alter_offsets(
        self, config: Mapping[str, str], offsets: Sequence[tuple[Mapping[str, Any], Mapping[str, Any] | None]]
    ) -> bool:
        """A partition is an entity; an offset has `offset`, and the number of records of the page that were read."""
        for partition, offset in offsets:
            if "entity" not in partition:
                raise ConnectException("Partition objects should contain the key 'entity'")
            if offset is not None:
                PagePosition.of(offset, "")
        return True


class _Entity:
    """A part of the source. `due` is when its next request may be sent, in monotonic seconds."""

    def __init__(self, name: str, at: PagePosition) -> None:
        self.name, self.at = name, at
        self.due = 0.0
        self.attempts = 0


class HttpSourceTask(SourceTask):
    """Sends requests for some entities, one after the other.

    Invariant: an entity's position is after the records that `poll` has returned of it.
    """

    java_class = "io.confluent.connect.http.HttpSourceTask"

    def __init__(self) -> None:
        self._stopped = threading.Event()
        self._clock: Callable[[], float] = time.monotonic

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self._config = known = source_definitions().parse(config)
        check_source(known)
        pointers = ("http.response.data.json.pointer", "http.offset.json.pointer", "http.next.page.json.pointer")
        self._mode: str = known["http.offset.mode"]
        self._paging = Paging(self._mode, *(known[name] for name in pointers))
        self._headers = parse_headers(known["http.request.headers"], known["http.request.headers.separator"])
        self._is_retried = status_codes(known["retry.on.status.codes"])
        initial = known["http.initial.offset"] or ("0" if self._mode == SIMPLE else "")
        reader = self.context.offset_storage_reader()
        self._entities = [
            _Entity(name, PagePosition.of(reader.offset({"entity": name}), initial)) for name in known[ENTITIES]
        ]
        self._client = make_client(known)

    def stop(self) -> None:
        self._stopped.set()

    def poll(self) -> list[SourceRecord] | None:
        """Return the records of one answer; waits a second if no request is due."""
        entity = min(self._entities, key=lambda each: each.due)
        wait_ms = (entity.due - self._clock()) * 1000
        if wait_ms > 0:
            self._stopped.wait(min(wait_ms, _LONGEST_WAIT_MS) / 1000)
            return None
        answer = self._request(entity)
        if answer is None:
            return None
        found, end = self._paging.records(entity.at, answer)
        records = [self._record(entity.name, row, position) for row, position in found]
        is_page = end.offset != entity.at.offset and self._mode != SNAPSHOT
        entity.at = end
        self._wait(entity, self._config["http.page.interval.ms" if is_page else "request.interval.ms"])
        return records or None

    def _wait(self, entity: _Entity, pause: float) -> None:
        entity.due = self._clock() + pause / 1000

    def _record(self, entity: str, row: Any, after: PagePosition) -> SourceRecord:
        topic = self._config["topic.name.pattern"].replace("${entityName}", entity)
        pointer = self._config["http.record.key.json.pointer"]
        key = value_at(row, pointer) if pointer else None
        return SourceRecord({"entity": entity}, after.stored(), topic, key=key, value=row)

    def _request(self, entity: _Entity) -> PageAnswer | None:
        """Return the answer; None if nothing is new, or the request is repeated later."""
        import httpx

        retry_after, is_retried = None, True
        request = self._built(entity)
        try:
            response = send_bounded(self._client, request, self._config["http.response.max.bytes"])
        except (httpx.HTTPError, RetriableException) as error:
            problem = f"{request.method} {request.url} has failed: {str(error) or type(error).__name__}"
        else:
            if response.status_code == 304:
                self._wait(entity, self._config["request.interval.ms"])
                return None
            if response.is_success:
                entity.attempts = 0
                return self._answer(response)
            problem = f"{request.method} {request.url} was answered by {response.status_code}: {response.text[:500]}"
            retry_after = response.headers.get("Retry-After")
            is_retried = self._is_retried(response.status_code)
        if not is_retried or entity.attempts >= self._config["max.retries"]:
            raise ConnectException(problem)
        entity.attempts += 1
        pause = pause_ms(self._config, entity.attempts, retry_after)
        log.warning("%s; it is repeated in %d ms", problem, pause)
        self._wait(entity, pause)
        return None

    def _built(self, entity: _Entity) -> httpx.Request:
        config, at = self._config, entity.at
        headers = [*self._headers, *([("If-None-Match", at.tag)] if at.tag else [])]
        if self._mode == LINK and at.offset:
            return self._client.build_request("GET", at.offset, headers=headers)

        def filled(text: str, quoted: bool) -> str:
            for name, value in (("${offset}", at.offset), ("${entityName}", entity.name)):
                text = text.replace(name, quote(value, safe="") if quoted else value)
            return text

        pairs = (
            part.partition("=")
            for part in config["http.request.parameters"].split(config["http.request.parameters.separator"])
        )
        parameters = [f"{quote(name)}={quote(filled(value, False), safe='')}" for name, _, value in pairs if name]
        url = filled(config["url"], True)
        if parameters:
            url += ("&" if urlsplit(url).query else "?") + "&".join(parameters)
        method = config["http.request.method"].upper()
        body = filled(config["http.request.body"], False).encode() if method == "POST" else None
        return self._client.build_request(method, url, content=body, headers=headers)

    def _answer(self, response: httpx.Response) -> PageAnswer:
        following = response.links.get("next", {}).get("url")
        if following is not None:
            following = urljoin(str(response.url), following)
            if urlsplit(following)[:2] != urlsplit(str(response.url))[:2]:
                # The credentials are for this server only.
                raise ConnectException(f"The next page {following} is on another server than {response.url}.")
        try:
            document = response.json() if response.content else None
        except ValueError as error:
            raise ConnectException(f"{response.url} has answered with what is no JSON: {error}") from error
        return PageAnswer(document, following, response.headers.get("ETag"))
