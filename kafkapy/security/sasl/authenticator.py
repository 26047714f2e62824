"""Authenticates a connection by SASL (Kafka's `SaslServerAuthenticator`; KIP-43, 152, 255, 368). No I/O.

The caller decodes requests and encodes responses; `frames.py` does it for bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from enum import Enum, auto
from typing import Any, Final, NamedTuple

from kafkapy.common.time import Time
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.error_responses import error_response
from kafkapy.protocol.errors import Errors
from kafkapy.protocol.message import Message
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateResponse
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.security.sasl.mechanism import SaslAuthenticationError, SaslExchangeError, SaslMechanism

DEFAULT_MAX_RECEIVE_SIZE: Final = 524_288
"""`sasl.server.max.receive.size`: limit of a frame before authentication, bytes."""

_MIN_BETWEEN_REAUTHENTICATIONS_MS = 1000
_SMALL_REQUEST_BYTES = 4096
_GSSAPI = "GSSAPI"


class SaslFailure(NamedTuple):
    """The connection must be closed."""

    reason: str
    """For the log; contains no secrets."""
    delayed: bool
    """Whether the authentication has failed, so that response (if any) and close are delayed by
    `connection.failed.authentication.delay.ms`. Otherwise the peer violates the protocol, and the connection is closed
    immediately.
    """


class SaslStep(NamedTuple):
    """The reaction to a frame; without response and token nothing is sent."""

    response: Message | None = None
    response_version: int | None = None
    """None: the request's version."""
    token: bytes | None = None
    """Sent after its size, without a header: the client uses SaslHandshake version 0."""
    failure: SaslFailure | None = None


class _SaslState(Enum):
    INITIAL = auto()
    """Nothing has been received."""
    VERSIONS_OR_HANDSHAKE = auto()
    HANDSHAKE = auto()
    """ApiVersions has been answered."""
    AUTHENTICATE = auto()
    BAD_MECHANISM = auto()
    """A re-authentication requested another mechanism; the next frame is refused."""
    COMPLETE = auto()
    FAILED = auto()


class SaslServerAuthenticator:
    """The authentication and re-authentications of one connection.

    Invariant: `principal`, `mechanism` and the session's end are those of the last completed authentication, all three
    together. They remain during a re-authentication, while no request is served (`complete` is false).

    Args:
        mechanisms: The enabled mechanisms in order -> function that starts an authentication.
        build_principal: Returns the principal of a completed mechanism.
        answer_api_versions: Returns the response to ApiVersions of a version; the request is None if the version is
            unknown.
        connections_max_reauth_ms: Mechanism -> `connections.max.reauth.ms`, 0: off.
        time: The broker's clock.

    Raises:
        ValueError: No mechanism is enabled.
    """

    def __init__(
        self,
        mechanisms: Mapping[str, Callable[[], SaslMechanism]],
        build_principal: Callable[[SaslMechanism], KafkaPrincipal],
        answer_api_versions: Callable[[ApiVersionsRequest | None, int], ApiVersionsResponse],
        connections_max_reauth_ms: Mapping[str, int],
        time: Time,
    ) -> None:
        if not mechanisms:
            raise ValueError("No SASL mechanisms are enabled")
        self._mechanisms = mechanisms
        self._build_principal = build_principal
        self._answer_api_versions = answer_api_versions
        self._max_reauth_ms = connections_max_reauth_ms
        self._time = time
        self._state = _SaslState.INITIAL
        self._current: SaslMechanism | None = None
        self._has_headers = False
        self._reauthentication_began_ms: int | None = None
        self._bad_mechanism = ""
        self.mechanism: SaslMechanism | None = None
        """The mechanism that authenticated the client."""
        self.principal: KafkaPrincipal | None = None
        self.session_ends_ms: int | None = None
        """In ms of the monotonic clock; None: the session does not end."""
        self.attempt: tuple[str | None, str | None] = (None, None)
        """The mechanism of the last attempt, and the name that the client claimed, if that is not secret."""
        self.client_reauthenticates = False
        """Whether the client supports re-authentication (Kafka counts expired sessions by it)."""

    @property
    def complete(self) -> bool:
        """Whether requests may be served, if the session has not expired."""
        return self._state is _SaslState.COMPLETE

    @property
    def is_reauthenticating(self) -> bool:
        return self.principal is not None and not self.complete

    @property
    def is_delegation_token(self) -> bool:
        """Whether the principal authenticated with a delegation token (Kafka's `tokenAuthenticated`)."""
        return self.mechanism is not None and self.mechanism.is_delegation_token

    @property
    def expects_token(self) -> bool:
        """Whether the next frame is a token without a header."""
        return self._state is _SaslState.AUTHENTICATE and not self._has_headers

    def session_expired(self) -> bool:
        """Whether any request except SaslHandshake now closes the connection (KIP-368)."""
        return self.session_ends_ms is not None and self._time.monotonic_ms() >= self.session_ends_ms

    def accepts(self, api_key: ApiKey, size: int) -> bool:
        """Return whether a request of this API and size is decoded. Few are, because the peer is not authenticated
        (CVE-2022-34917).

        After the handshake small requests of other APIs are decoded, so that the response can have an error for each
        item.
        """
        if self._state in (_SaslState.AUTHENTICATE, _SaslState.BAD_MECHANISM):
            return api_key is ApiKey.SASL_AUTHENTICATE or size <= _SMALL_REQUEST_BYTES
        return api_key in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE)

    def on_request(self, api_key: ApiKey, version: int, request: Any) -> SaslStep:
        """Process a request before the authentication is complete.

        Args:
            api_key: Its API.
            version: Its version.
            request: The decoded request; None if the API lacks the version, or `accepts` is false.
        """
        if self._state is _SaslState.INITIAL:
            self._state = _SaslState.VERSIONS_OR_HANDSHAKE
        if self._state is _SaslState.BAD_MECHANISM:
            return self._failed(self._bad_mechanism)
        if self._state is _SaslState.AUTHENTICATE:
            return self._authenticate(api_key, version, request)
        if self._state in (_SaslState.COMPLETE, _SaslState.FAILED):
            return self._broken(f"Unexpected Kafka request of type {api_key.name} in state {self._state.name}")
        if api_key is ApiKey.API_VERSIONS:
            return self._api_versions(version, request)
        if api_key is ApiKey.SASL_HANDSHAKE:
            return self._handshake(version, request)
        return self._failed(f"Unexpected Kafka request of type {api_key.name} during SASL handshake.")

    def on_token(self, token: bytes) -> SaslStep:
        """Process a frame while `expects_token` is true."""
        assert self._current is not None and self.expects_token
        try:
            answer = self._evaluate(self._current, token)
        except SaslAuthenticationError as error:
            return self._failed(str(error))
        return SaslStep(token=answer)

    def on_malformed(self, frame: bytes, reason: str) -> SaslStep:
        """Process a frame that is not a request.

        The first frame may be a token of a client of Kafka 0.9, which supports only GSSAPI and no handshake.
        """
        if self._state is not _SaslState.INITIAL:
            return self._broken(reason)
        if _GSSAPI not in self._mechanisms:
            return self._failed(
                f"Exception handling first SASL packet from client, GSSAPI is not supported by server: {reason}"
            )
        self._begin(_GSSAPI, has_headers=False)
        return self.on_token(frame)

    def on_undecodable(self, reason: str) -> SaslStep:
        """Process a request with a valid header and an undecodable body."""
        return self._broken(reason)

    def on_oversized(self, size: int) -> SaslStep:
        """Process a frame whose size is above `sasl.server.max.receive.size`, or negative."""
        return self._failed(f"Failing SASL authentication due to invalid receive size ({size})")

    def begin_reauthentication(self, version: int, request: SaslHandshakeRequest | None) -> SaslStep | None:
        """Process a SaslHandshake on an authenticated connection.

        Return None if the session does not end, or the last authentication began less than a second ago. Then it is an
        ordinary request, whose response is ILLEGAL_SASL_STATE.
        """
        assert self.complete
        if self.session_ends_ms is None:
            return None
        now = self._time.monotonic_ms()
        began = self._reauthentication_began_ms
        if began is not None and now - began < _MIN_BETWEEN_REAUTHENTICATIONS_MS:
            return None
        self._reauthentication_began_ms = now
        self._state = _SaslState.HANDSHAKE
        self._has_headers = False
        if request is not None and request.mechanism not in self._mechanisms:
            return self._broken(f"Unsupported SASL mechanism {request.mechanism!r:.100} for re-authentication")
        return self._handshake(version, request)

    def _api_versions(self, version: int, request: ApiVersionsRequest | None) -> SaslStep:
        if self._state is _SaslState.HANDSHAKE:
            return self._broken(
                "Unexpected ApiVersions request received during SASL authentication state HANDSHAKE_REQUEST"
            )
        response = self._answer_api_versions(request, version)
        if response.error_code == Errors.NONE.code:
            self._state = _SaslState.HANDSHAKE
        return SaslStep(response, 0 if request is None else None)

    def _handshake(self, version: int, request: SaslHandshakeRequest | None) -> SaslStep:
        if request is None:
            return self._broken(f"Version {version} of SaslHandshake is not supported")
        name = request.mechanism
        enabled = list(self._mechanisms)
        if name not in self._mechanisms:
            code = Errors.UNSUPPORTED_SASL_MECHANISM.code
            response = SaslHandshakeResponse(error_code=code, mechanisms=enabled)
            return self._failed(f"Unsupported SASL mechanism {name!r:.100}", response)
        self._has_headers = version >= 1
        if self.mechanism is not None and name != self.mechanism.name:
            self._bad_mechanism = (
                f"SASL mechanism '{name}' requested by client is not supported for re-authentication of mechanism "
                f"'{self.mechanism.name}'"
            )
            self._state = _SaslState.BAD_MECHANISM
        else:
            self._begin(name, self._has_headers)
        return SaslStep(SaslHandshakeResponse(mechanisms=enabled))

    def _authenticate(self, api_key: ApiKey, version: int, request: Any) -> SaslStep:
        if api_key is not ApiKey.SASL_AUTHENTICATE:
            message = f"Unexpected Kafka request of type {api_key.name} during SASL authentication."
            return self._failed(message, _illegal_state(api_key, version, request, message))
        if request is None:
            return self._broken(f"Version {version} is not supported for apiKey {api_key.name}")
        assert self._current is not None
        self.client_reauthenticates = self.client_reauthenticates or version > 0
        mechanism = self._current
        try:
            answer = self._evaluate(mechanism, bytes(request.auth_bytes))
        except SaslExchangeError as error:
            kind = "authentication" if self.principal is None else "re-authentication"
            message = (
                f"Authentication failed during {kind} due to invalid credentials with SASL mechanism {mechanism.name}"
            )
            return self._failed(f"{message}: {error}", _refusal(message))
        except SaslAuthenticationError as error:
            return self._failed(str(error), _refusal(str(error)))
        lifetime_ms = 0
        if self.complete and self.session_ends_ms is not None:
            lifetime_ms = max(0, self.session_ends_ms - self._time.monotonic_ms())
        return SaslStep(SaslAuthenticateResponse(auth_bytes=answer, session_lifetime_ms=lifetime_ms))

    def _evaluate(self, mechanism: SaslMechanism, token: bytes) -> bytes:
        """Raise SaslAuthenticationError."""
        try:
            try:
                answer = mechanism.evaluate(token)
            finally:
                self.attempt = mechanism.name, getattr(mechanism, "claimed_name", None)
            principal = self._build_principal(mechanism) if mechanism.complete else None
        except SaslAuthenticationError:
            raise
        except Exception as error:
            # Its message may contain the client's data.
            raise SaslExchangeError(f"{type(error).__name__} in {mechanism.name} or the principal builder") from None
        if principal is not None:
            self._accept(mechanism, principal)
        return answer

    def _accept(self, mechanism: SaslMechanism, principal: KafkaPrincipal) -> None:
        """Raise SaslAuthenticationError if the principal differs from the previous one."""
        before = self.principal
        if before is not None and (before.principal_type, before.name) != (principal.principal_type, principal.name):
            raise SaslAuthenticationError(
                "Cannot change principals during re-authentication from "
                f"{before.principal_type}.{before.name}: {principal.principal_type}.{principal.name}"
            )
        limits = [mechanism.session_lifetime_ms, self._max_reauth_ms.get(mechanism.name, 0) or None]
        given = [limit for limit in limits if limit is not None]
        self.session_ends_ms = self._time.monotonic_ms() + max(0, min(given)) if given else None
        self.mechanism = mechanism
        self.principal = principal
        self._current = None
        self._state = _SaslState.COMPLETE

    def _begin(self, mechanism: str, has_headers: bool) -> None:
        self._current = self._mechanisms[mechanism]()
        self.attempt = mechanism, None
        self._has_headers = has_headers
        self._state = _SaslState.AUTHENTICATE

    def _broken(self, reason: str) -> SaslStep:
        self._end()
        return SaslStep(failure=SaslFailure(reason, delayed=False))

    def _failed(self, reason: str, response: Message | None = None) -> SaslStep:
        self._end()
        return SaslStep(response, failure=SaslFailure(reason, delayed=True))

    def _end(self) -> None:
        self._state = _SaslState.FAILED
        self._current = None


def _refusal(message: str) -> Message:
    return SaslAuthenticateResponse(error_code=Errors.SASL_AUTHENTICATION_FAILED.code, error_message=message)


def _illegal_state(api_key: ApiKey, version: int, request: Message | None, message: str) -> Message | None:
    """Return the response to a request that may not have been decoded; None if the API lacks the version."""
    if not api_key.supports(version):
        return None
    return error_response(
        api_key.request() if request is None else request, version, Errors.ILLEGAL_SASL_STATE, message
    )
