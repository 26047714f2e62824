"""Tokens by OAuth 2.0's client credentials."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping
from typing import Any, Final

import httpx

from kafkapy.connect.errors import ConnectException, RetriableException

_MARGIN_S: Final = 30.0


class ClientCredentials(httpx.Auth):
    """Adds a token to requests; gets another one before it expires, and after a 401.

    Invariant: `_token` is "" or valid until `_until`, by the answer that it came with.

    Args:
        config: With the `oauth2.` configs, parsed.

    Raises:
        ConnectException: From a request: the credentials are refused, or the answer has no token.
        RetriableException: From a request: the server of tokens cannot answer now.
    """

    requires_response_body = True

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._token = ""
        self._until = 0.0

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if not self._token or time.monotonic() >= self._until:
            self._take((yield self._token_request()))
        request.headers["Authorization"] = f"Bearer {self._token}"
        response = yield request
        if response.status_code == 401:
            self._take((yield self._token_request()))
            request.headers["Authorization"] = f"Bearer {self._token}"
            yield request

    def _token_request(self) -> httpx.Request:
        config = self._config
        user, secret = config["oauth2.client.id"], config["oauth2.client.secret"].value
        form = {"grant_type": "client_credentials", "scope": config["oauth2.client.scope"]}
        if config["oauth2.client.auth.mode"] == "url":
            return httpx.Request(
                "POST", config["oauth2.token.url"], data={**form, "client_id": user, "client_secret": secret}
            )
        request = httpx.Request("POST", config["oauth2.token.url"], data=form)
        next(httpx.BasicAuth(user, secret).auth_flow(request))
        return request

    def _take(self, response: httpx.Response) -> None:
        self._token = ""
        url, code = self._config["oauth2.token.url"], response.status_code
        if code == 429 or code >= 500:
            raise RetriableException(f"{url} answers {code} instead of a token.")
        try:
            answer = response.json() if code < 300 else {}
            self._token = str(answer[self._config["oauth2.token.property"]])
            self._until = time.monotonic() + float(answer.get("expires_in", 3600)) - _MARGIN_S
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ConnectException(f"{url} answers {code} without a token: check the oauth2 configs.") from None
