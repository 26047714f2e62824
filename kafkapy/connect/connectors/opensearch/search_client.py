"""Requests to a cluster of OpenSearch or Elasticsearch."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import quote

from kafkapy.connect.connectors.http.bounded import send_bounded
from kafkapy.connect.connectors.http.client_config import make_client
from kafkapy.connect.connectors.opensearch.documents import Operation
from kafkapy.connect.connectors.opensearch.sink_config import SearchSettings
from kafkapy.connect.errors import ConnectException, RetriableException

if TYPE_CHECKING:
    import httpx

_BUSY: Final = frozenset({408, 429, 500, 502, 503, 504})
_TOO_MUCH: Final = frozenset({400, 413})
_BULK: Final = "/_bulk?filter_path=errors,items.*.status,items.*.error.type,items.*.error.reason"
_EXISTS: Final = "resource_already_exists_exception"


class ClusterBusy(RetriableException):
    """The cluster cannot be reached, or is overloaded.

    Args:
        problem: What has happened.
        retry_after: The header of the answer.
    """

    def __init__(self, problem: str, retry_after: str | None = None) -> None:
        super().__init__(problem)
        self.retry_after = retry_after


class OperationResult(NamedTuple):
    """What has become of an operation.

    Attributes:
        status: As of a request of its own.
        kind: Of the error. "": none.
        reason: Of the error.
    """

    status: int
    kind: str = ""
    reason: str = ""

    @property
    def is_busy(self) -> bool:
        """Whether it may succeed later."""
        return self.status in _BUSY


class SearchClient:
    """Sends requests to a server of a cluster; the next one is tried where it does not answer.

    Invariant: `_current` is the index of the server that has answered last.

    Args:
        settings: The connector's.

    Raises:
        ConnectException: httpx is missing.
    """

    def __init__(self, settings: SearchSettings) -> None:
        self._settings = settings
        self._client = make_client(settings.client)
        self._current = 0

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def bulk(self, operations: Sequence[Operation]) -> list[OperationResult]:
        """Execute operations; returns their results in the same order.

        A request that is refused as a whole is divided, until what it is refused for is alone.

        Args:
            operations: At least one.

        Raises:
            ClusterBusy: Some may have been executed; all can be repeated.
            ConnectException: The request is refused for another reason.
        """
        response = self._request("POST", _BULK, b"".join([each.lines for each in operations]), "application/x-ndjson")
        if response.status_code in _TOO_MUCH:
            if len(operations) == 1:
                return [OperationResult(response.status_code, *_error(response))]
            half = len(operations) // 2
            return self.bulk(operations[:half]) + self.bulk(operations[half:])
        results = [_result(next(iter(item.values()))) for item in _json(response)["items"]]
        if len(results) != len(operations):
            raise ConnectException(f"{len(operations)} operations have {len(results)} results: is this OpenSearch?")
        return results

    def create_index(self, name: str, mapping: dict[str, Any] | None) -> None:
        """Create an index if it is missing, and set its mapping if it has none.

        Args:
            name: Of an index or an alias.
            mapping: None: it has none.

        Raises:
            ClusterBusy: Try it later.
            ConnectException: The cluster refuses it.
        """
        path = f"/{quote(name, safe='')}"
        response = self._request("GET", f"{path}/_mapping")
        if response.status_code == 404:
            response = self._request("PUT", path, _dumped({"mappings": mapping} if mapping else {}))
            if not response.is_success and _error(response)[0] != _EXISTS:
                raise _refusal(f"The index {name} cannot be created", response)
        elif not response.is_success:
            raise _refusal(f"The index {name} cannot be read", response)
        elif mapping and not any(each.get("mappings") for each in _json(response).values()):
            response = self._request("PUT", f"{path}/_mapping", _dumped(mapping))
            if not response.is_success:
                raise _refusal(f"The mapping of the index {name} cannot be set", response)

    def create_data_stream(self, name: str) -> None:
        """Create a data stream if it is missing; an index template has to match it.

        Args:
            name: The stream's.

        Raises:
            ClusterBusy: Try it later.
            ConnectException: The cluster refuses it.
        """
        response = self._request("PUT", f"/_data_stream/{quote(name, safe='')}")
        if not response.is_success and _error(response)[0] != _EXISTS:
            raise _refusal(f"The data stream {name} cannot be created (it needs an index template)", response)

    def _request(
        self, method: str, path: str, body: bytes | None = None, kind: str = "application/json"
    ) -> httpx.Response:
        import httpx

        headers = {"Content-Type": kind} if body is not None else {}
        if body is not None and self._settings.compresses:
            headers["Content-Encoding"], body = "gzip", gzip.compress(body, 6)
        problem = ""
        for _ in self._settings.urls:
            url = self._settings.urls[self._current]
            try:
                request = self._client.build_request(method, url + path, content=body, headers=headers)
                response = send_bounded(self._client, request, self._settings.client["http.response.max.bytes"])
            except httpx.HTTPError as error:
                problem = f"{url} cannot be reached: {str(error) or type(error).__name__}"
            else:
                if response.status_code not in _BUSY:
                    if response.status_code in (401, 403):
                        raise _refusal(f"{url} refuses access", response)
                    return response
                problem = f"{url} answers {response.status_code}: {response.text[:500]}"
                if response.status_code == 429:
                    raise ClusterBusy(problem, response.headers.get("Retry-After"))
            self._current = (self._current + 1) % len(self._settings.urls)
        raise ClusterBusy(problem)


def _dumped(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()


def _json(response: httpx.Response) -> Any:
    try:
        found = response.json()
        if response.is_success and isinstance(found, dict):
            return found
    except ValueError:
        pass
    raise _refusal(f"{response.request.url} answers what OpenSearch does not", response)


def _result(item: dict[str, Any]) -> OperationResult:
    error = item.get("error") or {}
    return OperationResult(item["status"], error.get("type", ""), error.get("reason", ""))


def _error(response: httpx.Response) -> tuple[str, str]:
    try:
        error = response.json()["error"]
        return error["type"], error["reason"]
    except (ValueError, TypeError, KeyError):
        return "", response.text[:500]


def _refusal(what: str, response: httpx.Response) -> ConnectException:
    kind, reason = _error(response)
    return ConnectException(f"{what}: {response.status_code} {kind} {reason}".rstrip())
