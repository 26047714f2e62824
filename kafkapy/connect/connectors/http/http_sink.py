"""Sends records in HTTP requests (Confluent's `HttpSinkConnector`)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from kafkapy.common.config_def import ConfigException, Importance
from kafkapy.common.config_validators import NonEmptyString, OneOf, Range
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.connectors.http.bodies import Bodies, fill
from kafkapy.connect.connectors.http.bounded import send_bounded
from kafkapy.connect.connectors.http.client_config import (
    check_client_configs,
    define_client_configs,
    make_client,
    parse_headers,
    pause_ms,
    status_codes,
)
from kafkapy.connect.connectors.required_packages import require
from kafkapy.connect.connectors.uniform_sink import PutProgress, UniformSinkConnector, report
from kafkapy.connect.errors import ConnectException, DataException, RetriableException
from kafkapy.connect.java_classes import VERSION
from kafkapy.connect.records import SinkRecord
from kafkapy.connect.sink import SinkTask

log = logging.getLogger("kafkapy.connect.connectors.http")

_STRING = ConfigType.STRING
_NULLS: Final = ("IGNORE", "DELETE", "FAIL")
_ROWS: Final[tuple[tuple[str, ConfigType, Any, Any, str], ...]] = (
    ("request.method", _STRING, "POST", OneOf("POST", "PUT", "PATCH", case_insensitive=True), "Method of requests."),
    ("headers", _STRING, "", None, "name:value, separated."),
    ("header.separator", _STRING, "|", NonEmptyString(), "Between headers."),
    (
        "request.body.format",
        _STRING,
        "string",
        OneOf("STRING", "JSON", case_insensitive=True),
        "Of texts: as is, or JSON.",
    ),
    ("batch.max.size", ConfigType.INT, 1, Range(1, None), "Largest number of records in a request."),
    ("batch.prefix", _STRING, "", None, "Before the records of a request."),
    ("batch.suffix", _STRING, "", None, "After the records of a request."),
    ("batch.separator", _STRING, ",", None, "Between the records of a request."),
    ("batch.json.as.array", ConfigType.BOOLEAN, False, None, "Whether the records of a request are a JSON array."),
    ("regex.patterns", _STRING, "", None, "Patterns that are replaced in bodies, separated."),
    ("regex.replacements", _STRING, "", None, "What stands in their places; ${key} and ${topic} are filled in."),
    ("regex.separator", _STRING, "~", NonEmptyString(), "Between patterns, and between replacements."),
    (
        "behavior.on.null.values",
        _STRING,
        "ignore",
        OneOf(*_NULLS, case_insensitive=True),
        "Records without a value: ignore, delete (a DELETE request), fail.",
    ),
    (
        "behavior.on.error",
        _STRING,
        "fail",
        OneOf("FAIL", "IGNORE", "LOG", case_insensitive=True),
        "After the last attempt, where records cannot be reported.",
    ),
)


def _definitions() -> ConfigDef:
    url = "Of requests; ${topic} and ${key} are filled in."
    definitions = ConfigDef().define("http.api.url", validator=NonEmptyString(), importance=Importance.HIGH, doc=url)
    for name, kind, default, validator, doc in _ROWS:
        definitions.define(name, kind, default, validator=validator, doc=doc)
    return define_client_configs(definitions)


class _RequestBatch(NamedTuple):
    method: str
    url: str
    records: list[SinkRecord]


class HttpSinkTask(SinkTask):
    """Sends records, in order for each URL.

    Invariant: `_progress` has the records that were sent (or given up) by a `put` which then failed.
    """

    java_class = "io.confluent.connect.http.HttpSinkTask"

    def __init__(self) -> None:
        self._progress = PutProgress()

    def version(self) -> str:
        return VERSION

    def start(self, config: Mapping[str, str]) -> None:
        self._config = known = _definitions().parse(config)
        self._url: str = known["http.api.url"]
        self._method: str = known["request.method"].upper()
        self._nulls: str = known["behavior.on.null.values"].upper()
        self._headers = parse_headers(known["headers"], known["header.separator"])
        self._bodies = Bodies(known)
        self._is_retried = status_codes(known["retry.on.status.codes"])
        self._client = make_client(known)

    def stop(self) -> None:
        if hasattr(self, "_client"):
            self._client.close()

    def put(self, records: Sequence[SinkRecord]) -> None:
        waiting: dict[tuple[str, str], _RequestBatch] = {}
        for record in self._progress.pending(records):
            if record.value is None and self._nulls == "IGNORE":
                continue
            if record.value is None and self._nulls == "FAIL":
                self._give_up([record], DataException("The value is null: set behavior.on.null.values."))
                self._progress.done([record])
                continue
            self._add(record, waiting)
        for batch in waiting.values():
            self._send(batch)
        self._progress.completed()

    def _add(self, record: SinkRecord, waiting: dict[tuple[str, str], _RequestBatch]) -> None:
        method = "DELETE" if record.value is None else self._method
        url = fill(self._url, record)
        for other in (each for each in waiting if each[1] == url and each[0] != method):
            self._send(waiting.pop(other))  # a DELETE and what comes before it keep their order
            break
        batch = waiting.setdefault((method, url), _RequestBatch(method, url, []))
        batch.records.append(record)
        if len(batch.records) >= (1 if method == "DELETE" else self._config["batch.max.size"]):
            self._send(waiting.pop((method, url)))

    def _send(self, batch: _RequestBatch) -> None:
        import httpx

        retry_after, is_retried = None, True
        try:
            body = None if batch.method == "DELETE" else self._bodies.of(batch.records)
            request = self._client.build_request(batch.method, batch.url, content=body, headers=self._headers)
            response = send_bounded(self._client, request, self._config["http.response.max.bytes"])
        except httpx.InvalidURL as error:
            problem, is_retried = f"The URL {batch.url} is invalid: {error}", False
        except (httpx.HTTPError, RetriableException) as error:
            problem = f"{batch.method} {batch.url} has failed: {str(error) or type(error).__name__}"
        except DataException as error:
            problem, is_retried = str(error), False
        else:
            if response.is_success:
                self._progress.done(batch.records)
                return
            problem = f"{batch.method} {batch.url} was answered by {response.status_code}: {response.text[:500]}"
            retry_after = response.headers.get("Retry-After")
            is_retried = self._is_retried(response.status_code)
        if is_retried and self._progress.failed(self._config["max.retries"]):
            self.context.timeout(pause_ms(self._config, self._progress.attempts, retry_after))
            raise RetriableException(problem)
        self._give_up(batch.records, ConnectException(problem))
        self._progress.done(batch.records)

    def _give_up(self, records: Sequence[SinkRecord], error: ConnectException) -> None:
        if report(self.context, records, error):
            return
        if self._config["behavior.on.error"].upper() == "FAIL":
            raise error
        log.error("%d records are skipped: %s", len(records), error)


class HttpSinkConnector(UniformSinkConnector):
    """Sends records to `http.api.url`, each at least once; the configs are in docs/connect_http.md.

    Example:
        >>> connector = HttpSinkConnector()
        >>> connector.start({"name": "a", "http.api.url": "http://localhost/${topic}"})
        >>> len(connector.task_configs(2))
        2
    """

    java_class = "io.confluent.connect.http.HttpSinkConnector"
    task = HttpSinkTask

    def config(self) -> ConfigDef:
        return _definitions()

    def check_values(self, known: Mapping[str, Any], config: Mapping[str, str]) -> None:
        require("connect-http", "httpx", "A connector to an HTTP service")
        check_client_configs(known)
        if urlsplit(known["http.api.url"]).scheme not in ("http", "https"):
            raise ConfigException.invalid("http.api.url", known["http.api.url"], "Expected http:// or https://.")
        parse_headers(known["headers"], known["header.separator"])
        Bodies(known)
