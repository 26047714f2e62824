"""A client of the REST interface of Connect workers, Kafka's or this package's."""

from __future__ import annotations

import base64
import http.client
import json
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

_MOST_BYTES: Final = 64 * 1024 * 1024
_CONFLICT: Final = 409
_REBALANCE_TEXTS: Final = ("rebalance", "stale configuration")
"""In the message of a 409 that will be over soon; another conflict is that a connector exists."""
_PAUSE_S: Final = 0.25


class ConnectRequestError(Exception):
    """A worker has refused a request, or cannot be reached.

    Attributes:
        status: The HTTP status; None: there was no response.
    """

    def __init__(self, message: str, status: int | None = None) -> None:
        super().__init__(message)
        self.status = status


class ConnectClient:
    """Sends requests to one worker, which forwards them to the leader where that is necessary.

    While the group rebalances, a worker answers 409; such a request is sent again until `timeout_s` is over.

    Args:
        url: The worker's, for example http://localhost:8083. A path before the end points is kept.
        user: Name and password for basic authentication. Default: none.
        tls: For https. Default: the system's certificates.
        timeout_s: The limit of each request, in seconds. Default: 90, the worker's own limit.
        sleep: Pauses for seconds. Default: `time.sleep`.

    Raises:
        ConnectRequestError: The URL is none of http or https; by methods: the worker refuses the request, or cannot be
            reached.

    Example:
        >>> client = ConnectClient("http://localhost:8083")
        >>> client.path("connectors", "a/b", "status")
        '/connectors/a%2Fb/status'
    """

    def __init__(
        self,
        url: str,
        user: tuple[str, str] | None = None,
        tls: ssl.SSLContext | None = None,
        timeout_s: float = 90.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.url = url.rstrip("/")
        self._where = urlsplit(self.url)
        if self._where.scheme not in ("http", "https") or not self._where.hostname:
            raise ConnectRequestError(f"{url} is no URL of a worker: http://HOST:PORT or https://HOST:PORT is expected")
        self._headers = {"Accept": "application/json"}
        if user is not None:
            self._headers["Authorization"] = f"Basic {base64.b64encode(':'.join(user).encode()).decode()}"
        self._tls = tls
        self._timeout_s = timeout_s
        self._sleep = sleep

    # -- connectors

    def connectors(self) -> dict[str, dict[str, Any]]:
        """Return all connectors: name -> `info` and `status`, as the worker shows them."""
        found: dict[str, dict[str, Any]] = self.get("connectors", expand=("info", "status"))
        return found

    def config(self, name: str) -> dict[str, str]:
        """Return a connector's config."""
        found: dict[str, str] = self.get("connectors", name, "config")
        return found

    def put_config(self, name: str, config: Mapping[str, str | None]) -> Any:
        """Create a connector, or replace its config."""
        return self.request("PUT", self.path("connectors", name, "config"), config)

    def create(self, name: str, config: Mapping[str, str | None], state: str | None = None) -> Any:
        """Create a connector.

        Args:
            name: Its name.
            config: Its config.
            state: RUNNING, PAUSED or STOPPED. Default: RUNNING.
        """
        body = {"name": name, "config": config, **({} if state is None else {"initial_state": state})}
        return self.request("POST", "/connectors", body)

    def delete(self, name: str) -> None:
        """Delete a connector."""
        self.request("DELETE", self.path("connectors", name))

    def change_state(self, name: str, action: str) -> None:
        """Request another state. `action`: pause, resume or stop."""
        self.request("PUT", self.path("connectors", name, action))

    def restart(self, name: str, tasks: bool = False, only_failed: bool = False) -> Any:
        """Restart a connector.

        Args:
            name: Its name.
            tasks: True: with its tasks. Default: the connector alone.
            only_failed: True: only what has failed.
        """
        query = urlencode({"includeTasks": str(tasks).lower(), "onlyFailed": str(only_failed).lower()})
        return self.request("POST", f"{self.path('connectors', name, 'restart')}?{query}")

    def restart_task(self, name: str, task: int) -> None:
        """Restart one task."""
        self.request("POST", self.path("connectors", name, "tasks", str(task), "restart"))

    def validate(self, connector_class: str, config: Mapping[str, str | None]) -> dict[str, Any]:
        """Return the worker's validation of a config."""
        path = self.path("connector-plugins", connector_class, "config", "validate")
        found: dict[str, Any] = self.request("PUT", path, config)
        return found

    # -- offsets

    def offsets(self, name: str) -> list[dict[str, Any]]:
        """Return the offsets of a connector: objects with `partition` and `offset`."""
        found: list[dict[str, Any]] = self.get("connectors", name, "offsets")["offsets"]
        return found

    def alter_offsets(self, name: str, offsets: Sequence[Mapping[str, Any]]) -> str:
        """Set offsets of a stopped connector; return the worker's message."""
        return self._message("PATCH", name, {"offsets": list(offsets)})

    def reset_offsets(self, name: str) -> str:
        """Delete the offsets of a stopped connector; return the worker's message."""
        return self._message("DELETE", name, None)

    def _message(self, method: str, name: str, body: Any) -> str:
        return str(self.request(method, self.path("connectors", name, "offsets"), body)["message"])

    # -- requests

    @staticmethod
    def path(*parts: str) -> str:
        """Return the path of an end point; parts are quoted."""
        return "".join(f"/{quote(part, safe='')}" for part in parts)

    def get(self, *parts: str, **query: Any) -> Any:
        """Send a GET. `query`: parameters; a sequence stands for several of one name."""
        text = f"?{urlencode(query, doseq=True)}" if query else ""
        return self.request("GET", self.path(*parts) + text)

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request, again while the group rebalances.

        Args:
            method: GET, PUT …
            path: With its query.
            body: Becomes JSON. Default: no body.

        Returns:
            The parsed response; None: it is empty.

        Raises:
            ConnectRequestError: The worker refuses it, or cannot be reached.
        """
        waited = 0.0
        while True:
            try:
                return self._once(method, path, body)
            except ConnectRequestError as error:
                rebalances = error.status == _CONFLICT and any(text in str(error).lower() for text in _REBALANCE_TEXTS)
                if not rebalances or waited >= self._timeout_s:
                    raise
            self._sleep(_PAUSE_S)
            waited += _PAUSE_S

    def _once(self, method: str, path: str, body: Any) -> Any:
        headers = dict(self._headers)
        data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        connection = self._connection()
        try:
            connection.request(method, self._where.path + path, data, headers)
            response = connection.getresponse()
            status, received = response.status, response.read(_MOST_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise ConnectRequestError(f"No worker answers at {self.url}: {error}") from None
        finally:
            connection.close()
        return _parsed(status, received, f"{method} {path}")

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._where.hostname or "", self._where.port
        if self._where.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._timeout_s)
        return http.client.HTTPSConnection(host, port, timeout=self._timeout_s, context=self._tls)


def _parsed(status: int, received: bytes, what: str) -> Any:
    try:
        body = json.loads(received) if received else None
    except ValueError:
        body = None
        if status < 400:
            raise ConnectRequestError(f"The response to {what} is no JSON: {received[:100]!r}", status) from None
    if 200 <= status < 300:
        return body
    message = body.get("message") if isinstance(body, dict) else received[:200].decode("utf-8", "replace")
    raise ConnectRequestError(str(message) if message else f"{what} was answered with status {status}", status)
