"""The exchange before the first request of a connection: versions (KIP-511) and SASL (KIP-43, KIP-152), without I/O.

Each conversation is a generator: it yields requests and blocking calls, and is sent their results.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, NamedTuple

from kafkapy.clients import software
from kafkapy.clients.api_versions import NodeApiVersions
from kafkapy.clients.client_apis import Api
from kafkapy.clients.config import ClientConfig
from kafkapy.errors import error_for
from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.errors import Errors, KafkaError
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest
from kafkapy.protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from kafkapy.protocol.messages.sasl_handshake import SaslHandshakeRequest


class Ask(NamedTuple):
    """A request; its response is sent back into the conversation."""

    message: Any
    api_key: Api
    version: int


class Blocking(NamedTuple):
    """A call that may block, such as a token provider's. Its result is sent, or its error thrown, into the
    conversation."""

    work: Callable[[], bytes]


class Agreed(NamedTuple):
    """The outcome: the broker's versions, and the lifetime of the authentication in ms (0: unlimited)."""

    versions: NodeApiVersions
    lifetime_ms: int


Conversation = Generator[Ask | Blocking, Any, Agreed]


def handshake(config: ClientConfig, host: str = "") -> Conversation:
    """Run both parts, as far as the config needs them. `host`: the broker's, for Kerberos. Raises KafkaError."""
    versions = config.pinned_versions
    if versions is None:
        versions = yield from negotiate()
    return (yield from authenticate(config, versions, host))


def negotiate() -> Generator[Ask, Any, NodeApiVersions]:
    """Request the broker's versions. Raises `KafkaError` with the broker's error code if it refuses.

    A broker without our version of ApiVersions responds in version 0, with the versions that it supports (KIP-511).
    """
    request = ApiVersionsRequest(client_software_name=software.NAME, client_software_version=software.VERSION)
    answer = yield Ask(request, ApiKey.API_VERSIONS, ApiKey.API_VERSIONS.max_version)
    if answer.error_code == Errors.UNSUPPORTED_VERSION.code:
        served = NodeApiVersions.of(answer)
        version = served.latest_usable(ApiKey.API_VERSIONS) if served.ranges else 0
        answer = yield Ask(request, ApiKey.API_VERSIONS, version)
    if answer.error_code != Errors.NONE.code:
        error = Errors.for_code(answer.error_code)
        raise KafkaError(error, f"The broker refused the ApiVersions request: {error.message}")
    return NodeApiVersions.of(answer)


def authenticate(config: ClientConfig, versions: NodeApiVersions, host: str = "") -> Conversation:
    """Run SaslHandshake and the mechanism's exchange, if SASL is configured. Raises the broker's error."""
    name = config.security.sasl_mechanism
    if name is None:
        return Agreed(versions, 0)
    version = versions.latest_usable(ApiKey.SASL_HANDSHAKE)
    answer = yield Ask(SaslHandshakeRequest(mechanism=name), ApiKey.SASL_HANDSHAKE, version)
    if answer.error_code == Errors.UNSUPPORTED_SASL_MECHANISM.code:
        offered = ", ".join(answer.mechanisms)
        raise error_for(answer.error_code, f"The broker offers {offered or 'no mechanism'}, not {name}")
    if answer.error_code == Errors.ILLEGAL_SASL_STATE.code:
        sentence = f"The listener does not ask for SASL: check port and security_protocol ({config.security_protocol})"
        raise error_for(answer.error_code, sentence)
    if answer.error_code:
        raise error_for(answer.error_code)
    mechanism = config.security.authentication(config, host)
    version = versions.latest_usable(ApiKey.SASL_AUTHENTICATE)
    said: bytes | None = yield Blocking(mechanism.first)
    while said is not None:
        answer = yield Ask(SaslAuthenticateRequest(auth_bytes=said), ApiKey.SASL_AUTHENTICATE, version)
        if answer.error_code:
            raise error_for(answer.error_code, answer.error_message)
        said = mechanism.next(answer.auth_bytes)
    return Agreed(versions, answer.session_lifetime_ms)
