"""SASL authentication of a connection, at its start and when it authenticates again (KIP-368)."""

from __future__ import annotations

import logging
from struct import Struct
from typing import Final, Protocol

from kafkapy.network.authentication_counts import AuthenticationCounter
from kafkapy.network.request import RequestContext
from kafkapy.protocol.api_codecs import ApiCodecs, NotServedError
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.framing import ApiCodec, read_request_header
from kafkapy.protocol.wire import SchemaError
from kafkapy.security.authentication import AuthenticationOutcome
from kafkapy.security.sasl.authenticator import SaslFailure, SaslServerAuthenticator
from kafkapy.security.sasl.frames import SaslReply, encode_step, handle_frame

log = logging.getLogger("kafkapy.network.SocketServer")

_API_KEY: Final = Struct(">h")
_HANDSHAKE: Final = int(ApiKey.SASL_HANDSHAKE)


class SaslChannel(Protocol):
    """What SASL needs of the channel."""

    def send_raw(self, data: bytes) -> None: ...

    def close(self, reason: str) -> None: ...

    def close_later(self, data: bytes, reason: str) -> None:
        """Send `data` and close after the delay of failed authentications. Nothing is read until then."""
        ...


class SaslConnection:
    """The authentication of one connection.

    Invariant: the context's principal is the authenticator's, as soon as there is one.
    """

    def __init__(
        self,
        authenticator: SaslServerAuthenticator,
        context: RequestContext,
        codecs: ApiCodecs,
        max_receive_size: int,
        authentications: AuthenticationCounter,
    ) -> None:
        """`max_receive_size`: `sasl.server.max.receive.size`, bytes. `authentications`: counts each outcome."""
        self._authenticator = authenticator
        self._context = context
        self._codecs = codecs
        self.max_receive_size = max_receive_size
        self._authentications = authentications
        self._was_authenticated = False

    @property
    def complete(self) -> bool:
        return self._authenticator.complete

    def handle_auth_frame(self, channel: SaslChannel, frame: memoryview) -> bool:
        """Handle the frame if it belongs to the authentication. Returns False if it is an ordinary request."""
        authenticator = self._authenticator
        if not authenticator.complete:
            self._done(channel, handle_frame(authenticator, frame, self._find, self._note_client_id))
            return True
        if len(frame) >= _API_KEY.size and _API_KEY.unpack_from(frame)[0] == _HANDSHAKE:
            return self._begin_again(channel, frame)
        if authenticator.session_expired():
            self._authentications.expired(self._context)
            channel.close("its SASL session has expired, and it has not authenticated again")
            return True
        return False

    def reject_oversized(self, channel: SaslChannel, size: int) -> None:
        self._done(channel, SaslReply(b"", self._authenticator.on_oversized(size).failure))

    def _begin_again(self, channel: SaslChannel, frame: memoryview) -> bool:
        try:
            key, version, correlation_id, _, position = read_request_header(frame)
            request = self._find(key, version).decode(frame, position)
        except SchemaError as problem:
            channel.close(f"malformed request: {problem}")
            return True
        step = self._authenticator.begin_reauthentication(version, request)
        if step is None:
            return False
        self._done(channel, encode_step(step, ApiKey.SASL_HANDSHAKE, version, correlation_id, self._find))
        return True

    def _done(self, channel: SaslChannel, reply: SaslReply) -> None:
        failure = reply.failure
        if failure is None:
            if reply.data:
                channel.send_raw(reply.data)
            if self._authenticator.complete:
                self._authenticated()
        else:
            self._failed(channel, reply.data, failure)

    def _authenticated(self) -> None:
        authenticator, context = self._authenticator, self._context
        assert authenticator.principal is not None and authenticator.mechanism is not None
        context.principal = authenticator.principal
        mechanism = authenticator.mechanism.name
        if context.authentication.mechanism != mechanism:
            context.authentication = context.authentication._replace(mechanism=mechanism)
        outcome = AuthenticationOutcome(
            mechanism=mechanism,
            is_reauthentication=self._was_authenticated,
            reauthenticates=authenticator.client_reauthenticates,
        )
        self._was_authenticated = True
        self._authentications.ended(context, outcome)

    def _failed(self, channel: SaslChannel, data: bytes, failure: SaslFailure) -> None:
        mechanism, claimed = self._authenticator.attempt
        outcome = AuthenticationOutcome(
            failure.reason,
            mechanism,
            claimed,
            is_reauthentication=self._was_authenticated,
            is_broken=not failure.delayed,
        )
        self._authentications.ended(self._context, outcome)
        if failure.delayed:
            log.info("Failed authentication with %s (%s)", self._context.client_host, failure.reason)
            channel.close_later(data, failure.reason)
        else:
            channel.close(failure.reason)

    def _find(self, key: int, version: int) -> ApiCodec:
        try:
            return self._codecs.find(key, version)
        except NotServedError as problem:
            raise SchemaError(str(problem)) from None

    def _note_client_id(self, client_id: str) -> None:
        self._context.client_id = client_id
