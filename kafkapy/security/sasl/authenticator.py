"""How a connection authenticates by SASL (Kafka's `SaslServerAuthenticator`; KIP-43, 152, 255, 368). No I/O.

The caller decodes requests and encodes responses: `frames.py` does it for bytes.
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
"""`sasl.server.max.receive.size`: of a frame before the connection is authenticated."""

_MIN_BETWEEN_REAUTHENTICATIONS_MS = 1000
_SMALL_REQUEST_BYTES = 4096
_GSSAPI = "GSSAPI"


class SaslFailure(NamedTuple):
    """The connection is to be closed."""

    reason: str
    """For the log; holds no secrets."""
    delayed: bool
    """True: the authentication has failed, so the response (if any) and the end come after
    `connection.failed.authentication.delay.ms`. False: the peer does not keep to the protocol, and the end comes at once."""


class SaslStep(NamedTuple):
    """What is to be done about a frame; neither response nor token: nothing is sent."""

    response: Message | None = None
    response_version: int | None = None
    """None: the request's."""
    token: bytes | None = None
    """To be sent behind its size, without a header: the client speaks SaslHandshake version 0."""
    failure: SaslFailure | None = None


class _SaslState(Enum):
    INITIAL = auto()
    """Nothing was received yet."""
    VERSIONS_OR_HANDSHAKE = auto()
    HANDSHAKE = auto()
    """ApiVersions was answered."""
    AUTHENTICATE = auto()
    BAD_MECHANISM = auto()
    """A re-authentication asked for another mechanism; what comes next is refused."""
    COMPLETE = auto()
    FAILED = auto()


class SaslServerAuthenticator:
    """One connection's authentication, and its re-authentications.

    Invariant: `principal`, `mechanism` and the session's end are those of the last authentication that was completed, all three
    together; while another is going on they stay, and no request is served (`complete` is false).

    Args:
        mechanisms: The enabled mechanisms in their order -> what begins an authentication.
        build_principal: The principal of a mechanism that is complete.
        answer_api_versions: The answer to ApiVersions of this version; the request is None if the version is not known.
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
        """The one that has let the client in."""
        self.principal: KafkaPrincipal | None = None
        self.session_ends_ms: int | None = None
        """On the monotonic clock; None: the session does not end."""
        self.attempt: tuple[str | None, str | None] = (None, None)
        """The mechanism that was tried last, and the name that the client gave to it, if that is no secret."""
        self.client_reauthenticates = False
        """The client is one that would re-authenticate (Kafka counts sessions that expire by it)."""

    @property
    def complete(self) -> bool:
        """Requests may be served, as far as the session has not expired."""
        return self._state is _SaslState.COMPLETE

    @property
    def is_reauthenticating(self) -> bool:
        return self.principal is not None and not self.complete

    @property
    def is_delegation_token(self) -> bool:
        """The principal has shown a delegation token (Kafka's `tokenAuthenticated`)."""
        return self.mechanism is not None and self.mechanism.is_delegation_token

    @property
    def expects_token(self) -> bool:
        """The next frame is a token without a header."""
        return self._state is _SaslState.AUTHENTICATE and not self._has_headers

    def session_expired(self) -> bool:
        """A request that is no SaslHandshake now ends the connection (KIP-368)."""
        return self.session_ends_ms is not None and self._time.monotonic_ms() >= self.session_ends_ms

    def accepts(self, api_key: ApiKey, size: int) -> bool:
        """Whether a request of this API and size is to be decoded. Few are, for the peer is not known yet (CVE-2022-34917).

        After the handshake a small one of another API is, so that its answer can say which error each of its items has.
        """
        if self._state in (_SaslState.AUTHENTICATE, _SaslState.BAD_MECHANISM):
            return api_key is ApiKey.SASL_AUTHENTICATE or size <= _SMALL_REQUEST_BYTES
        return api_key in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE)

    def on_request(self, api_key: ApiKey, version: int, request: Any) -> SaslStep:
        """A request before the authentication is complete.

        Args:
            api_key: Its API.
            version: Its version.
            request: What was decoded; None if the API has no such version, or is one that `accepts` does not want.
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
        """A frame while `expects_token` is true."""
        assert self._current is not None and self.expects_token
        try:
            answer = self._evaluate(self._current, token)
        except SaslAuthenticationError as error:
            return self._failed(str(error))
        return SaslStep(token=answer)

    def on_malformed(self, frame: bytes, reason: str) -> SaslStep:
        """A frame that is no request.

        If it is the first, it may be a token of a client of Kafka 0.9, which knows GSSAPI alone and no handshake.
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
        """A request whose header can be read, and the rest not."""
        return self._broken(reason)

    def on_oversized(self, size: int) -> SaslStep:
        """A frame that says it is larger than `sasl.server.max.receive.size`, or negative."""
        return self._failed(f"Failing SASL authentication due to invalid receive size ({size})")

    def begin_reauthentication(self, version: int, request: SaslHandshakeRequest | None) -> SaslStep | None:
        """A SaslHandshake on a connection that is authenticated.

        None: the session does not end, or the last one began less than a second ago. So this is a request like others,
        whose answer is ILLEGAL_SASL_STATE.
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
        """Raises SaslAuthenticationError."""
        try:
            try:
                answer = mechanism.evaluate(token)
            finally:
                self.attempt = mechanism.name, getattr(mechanism, "claimed_name", None)
            principal = self._build_principal(mechanism) if mechanism.complete else None
        except SaslAuthenticationError:
            raise
        except Exception as error:
            # Its message may hold what the client has said.
            raise SaslExchangeError(f"{type(error).__name__} in {mechanism.name} or the principal builder") from None
        if principal is not None:
            self._accept(mechanism, principal)
        return answer

    def _accept(self, mechanism: SaslMechanism, principal: KafkaPrincipal) -> None:
        """Raises SaslAuthenticationError if it is another principal than before."""
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
    """The answer to a request that may not have been decoded; None if the API has no such version."""
    if not api_key.supports(version):
        return None
    return error_response(
        api_key.request() if request is None else request, version, Errors.ILLEGAL_SASL_STATE, message
    )
