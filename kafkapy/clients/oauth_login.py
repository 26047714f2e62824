"""Token providers for OAUTHBEARER, as configured by Java's client configs (KIP-255, KIP-768;
`OAuthBearerLoginModule`).

They are values of the option `sasl_oauth_token_provider`: `token()` is called for each authentication and may block.
"""

from __future__ import annotations

import base64
import json
import random
import ssl
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.error import HTTPError, URLError
from urllib.parse import quote_plus, unquote, urlencode, urlsplit
from urllib.request import HTTPHandler, HTTPRedirectHandler, HTTPSHandler, Request, build_opener

from kafkapy.errors import KafkaConfigurationError, SaslAuthenticationFailedError

MOST_BYTES: Final = 1 << 20
"""Limit of a response of the identity provider, in bytes."""
DEFAULT_LIFETIME_SECONDS: Final = 300.0
"""Assumed lifetime of a token without an expiry."""

_RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504})
_EXTENSION = "extension_"


class RefreshTimes(NamedTuple):
    """When a new token is requested (`sasl.login.refresh.*`)."""

    window_factor: float = 0.8
    """Fraction of the token's lifetime."""
    window_jitter: float = 0.05
    min_period_seconds: float = 60
    buffer_seconds: float = 300

    def refresh_at(self, issued: float, expires: float, chance: float) -> float:
        """Return the time at which a new token is requested.

        Example:
            >>> RefreshTimes().refresh_at(0, 3600, 0)
            2880.0
        """
        lifetime = expires - issued
        wanted = issued + lifetime * (self.window_factor + self.window_jitter * chance)
        if self.min_period_seconds + self.buffer_seconds > lifetime:
            return wanted
        return max(min(wanted, expires - self.buffer_seconds), issued + self.min_period_seconds)


class RefreshingTokens:
    """Caches a token and refreshes it before it expires; if a refresh fails, the old token is used until its expiry.

    Thread-safe: all threads share one token. `repr` hides the token.

    Invariant: `_token` is the last one that was fetched, valid until `_expires`; a new one is requested from
    `_refresh_at` on.
    """

    def __init__(
        self,
        fetch: Callable[[], tuple[str, float | None]],
        extensions: Mapping[str, str],
        times: RefreshTimes | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        """
        Args:
            fetch: Returns a token and its expiry (seconds since the epoch; None: unknown); may raise any exception.
                extensions: SASL extensions that are sent with each token (KIP-342).
            times: When tokens are refreshed.
            now: The time, seconds since the epoch.
        """
        self._fetch = fetch
        self._extensions = dict(extensions)
        self._times = times or RefreshTimes()
        self._now = now
        self._lock = threading.Lock()
        self._token = ""
        self._expires = self._refresh_at = 0.0

    def __repr__(self) -> str:
        return f"RefreshingTokens(good until {self._expires:.0f})"

    def token(self) -> str:
        """Return a valid token, fetched if necessary. Raises SaslAuthenticationFailedError if there is none."""
        with self._lock:
            now = self._now()
            if self._token and now < self._refresh_at:
                return self._token
            try:
                token, expires = self._fetch()
            except Exception as problem:
                if self._token and now < self._expires:
                    return self._token
                if isinstance(problem, SaslAuthenticationFailedError):
                    raise
                raise SaslAuthenticationFailedError(f"No token for OAUTHBEARER: {type(problem).__name__}") from None
            self._token = token
            self._expires = now + DEFAULT_LIFETIME_SECONDS if expires is None else expires
            self._refresh_at = self._times.refresh_at(now, self._expires, random.random())
            return token

    def extensions(self) -> dict[str, str]:
        return self._extensions


class TokenEndpoint:
    """Gets tokens from an identity provider by `grant_type=client_credentials` (Kafka's `HttpAccessTokenRetriever`).

    `repr` hides the secret.
    """

    def __init__(
        self,
        url: str,
        client_id: str,
        client_secret: str,
        scope: str = "",
        *,
        url_encodes_header: bool = False,
        connect_timeout: float = 10.0,
        read_timeout: float = 10.0,
        retry_backoff: float = 0.1,
        retry_backoff_max: float = 10.0,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """
        Args:
            url: `sasl.oauthbearer.token.endpoint.url`: https or http.
            client_id: Of the JAAS options; so are `client_secret` and `scope`.
            client_secret: See above.
            scope: See above.
            url_encodes_header: `sasl.oauthbearer.header.urlencode`.
            connect_timeout: Limit in seconds for connecting, and again for the TLS handshake. read_timeout: Limit in
                seconds for each read of the response. retry_backoff: Seconds before the second attempt; doubled each
                time. retry_backoff_max: Seconds after which no attempt is made any more.
            context: TLS; None: the system's certificates.
        """
        if url_encodes_header:
            client_id, client_secret = quote_plus(client_id), quote_plus(client_secret)
        self._url = url
        self._authorization = base64.b64encode(f"{client_id}:{client_secret}".encode()).decode()
        fields = {"grant_type": "client_credentials"} | ({"scope": scope} if scope else {})
        self._body = urlencode(fields).encode()
        self._timeout = connect_timeout
        self._backoff, self._backoff_max = retry_backoff, retry_backoff_max
        # No redirects: the secret is sent only to the configured address.
        self._opener = build_opener(_NoRedirects(), _Http(read_timeout), _Https(read_timeout, context))

    def __repr__(self) -> str:
        return f"TokenEndpoint({self._url})"

    def fetch(self) -> tuple[str, float | None]:
        """Request a token; return it and its expiry. Raises SaslAuthenticationFailedError."""
        deadline, pause = time.monotonic() + self._backoff_max, self._backoff
        while True:
            try:
                return self._ask()
            except HTTPError as error:
                reason, is_passing = f"HTTP status {error.code}", error.code in _RETRIED
                error.close()
            except (URLError, OSError) as error:
                reason, is_passing = str(getattr(error, "reason", error)), True
            except ValueError as error:
                raise SaslAuthenticationFailedError(f"The answer of {self._url} is no token: {error}") from None
            if not is_passing or time.monotonic() + pause > deadline:
                raise SaslAuthenticationFailedError(f"No token from {self._url}: {reason}")
            time.sleep(pause)
            pause *= 2

    def _ask(self) -> tuple[str, float | None]:
        headers = {"Accept": "application/json", "Authorization": f"Basic {self._authorization}"}
        request = Request(self._url, self._body, headers, method="POST")
        with self._opener.open(request, timeout=self._timeout) as response:
            data = response.read(MOST_BYTES + 1)
        if len(data) > MOST_BYTES:
            raise ValueError(f"it has more than {MOST_BYTES} bytes")
        try:
            answer = json.loads(data)
        except ValueError:
            raise ValueError("it is no JSON") from None
        token = answer.get("access_token") if isinstance(answer, dict) else None
        if not isinstance(token, str) or not token:
            raise ValueError("it has no access_token")
        expires = _end_of(token)
        lasts = answer.get("expires_in")
        if expires is None and isinstance(lasts, int | float):
            expires = time.time() + lasts
        return token, expires


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


class _ProviderConnection(HTTPConnection):
    """A connection with separate time-outs for connecting and reading."""

    def __init__(self, read_timeout: float, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._read_timeout = read_timeout

    def connect(self) -> None:
        super().connect()
        self.sock.settimeout(self._read_timeout)


class _TlsProviderConnection(_ProviderConnection, HTTPSConnection):
    """The same over TLS."""


class _Http(HTTPHandler):
    def __init__(self, read_timeout: float) -> None:
        super().__init__()
        self._made = partial(_ProviderConnection, read_timeout)

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(self._made, req)


class _Https(HTTPSHandler):
    def __init__(self, read_timeout: float, context: ssl.SSLContext | None) -> None:
        super().__init__()
        self._made = partial(_TlsProviderConnection, read_timeout, context=context)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(self._made, req)


def token_file(url: str) -> Callable[[], tuple[str, float | None]]:
    """Return a function that reads a token from a file (a `file:` URL in place of the endpoint)."""
    path = Path(unquote(urlsplit(url).path))

    def fetch() -> tuple[str, float | None]:
        try:
            token = path.read_text("utf-8").strip()
        except (OSError, ValueError) as problem:
            raise SaslAuthenticationFailedError(f"No token in {path}: {problem}") from None
        return token, _end_of(token)

    return fetch


def unsecured_tokens(options: Mapping[str, str], now: Callable[[], float] = time.time) -> RefreshingTokens:
    """Makes tokens without a signature, for tests (Kafka's `OAuthBearerUnsecuredLoginCallbackHandler`).

    Args:
        options: Options of the JAAS module: `unsecuredLoginStringClaim_sub`, `unsecuredLoginLifetimeSeconds` ...
        now: The time, seconds since the epoch.

    Raises:
        KafkaConfigurationError: An option is invalid.
    """
    prefix = "unsecuredLogin"
    principal = options.get(f"{prefix}PrincipalClaimName", "").strip() or "sub"
    scope = options.get(f"{prefix}ScopeClaimName", "").strip() or "scope"
    try:
        lifetime = float(options.get(f"{prefix}LifetimeSeconds", "").strip() or 3600)
        claims: dict[str, Any] = {}
        extensions: dict[str, str] = {}
        for name, value in options.items():
            for kind, into in (("StringClaim_", str), ("NumberClaim_", float), ("ListClaim_", _listed)):
                if name.startswith(prefix + kind):
                    claims[name.removeprefix(prefix + kind)] = into(value)
            if name.startswith(f"{prefix}Extension_"):
                extensions[name.removeprefix(f"{prefix}Extension_")] = value
    except ValueError as problem:
        raise KafkaConfigurationError(f"sasl.jaas.config: an option {prefix}… is wrong: {problem}") from None
    if principal not in claims:
        raise KafkaConfigurationError(f"sasl.jaas.config: {prefix}StringClaim_{principal} is needed, for the principal")
    if isinstance(claims.get(scope), str):
        claims[scope] = claims[scope].split()

    def fetch() -> tuple[str, float | None]:
        issued = int(now())  # rounded down, so that it isn't after the broker's time, which is in milliseconds
        timed = {"iat": issued, "exp": issued + lifetime, **claims}
        return f"{_base64({'alg': 'none'})}.{_base64(timed)}.", timed["exp"]

    return RefreshingTokens(fetch, extensions, now=now)


def extensions_of(options: Mapping[str, str]) -> dict[str, str]:
    """Return the SASL extensions of the JAAS options `extension_NAME`."""
    return {name.removeprefix(_EXTENSION): value for name, value in options.items() if name.startswith(_EXTENSION)}


def _listed(value: str) -> list[str]:
    """Split a list whose first character is the separator."""
    return value[1:].split(value[0]) if value else []


def _base64(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value, separators=(",", ":")).encode()).rstrip(b"=").decode()


def _end_of(token: str) -> float | None:
    """Return `exp` of a JWT; None if there is none, or it is no JWT. The signature is not verified: the broker does
    that."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return None
    end = claims.get("exp") if isinstance(claims, dict) else None
    return float(end) if isinstance(end, int | float) else None
