"""SASL of the broker's listeners (Kafka's `SaslChannelBuilder`)."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from kafkapy.common.broker import EndPoint
from kafkapy.network.request import RequestContext
from kafkapy.network.socket_server import NewAuthenticator
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkapy.runtime.clock import Clock
from kafkapy.security.jaas_file import java_properties, load_jaas_file
from kafkapy.security.principal import KafkaPrincipal, TokenPrincipal
from kafkapy.security.principal_builder import PrincipalBuilder
from kafkapy.security.sasl.authenticator import SaslServerAuthenticator
from kafkapy.security.sasl.listener_mechanisms import ListenerMechanisms, SaslServices, make_listener_mechanisms
from kafkapy.security.sasl.mechanism import SaslMechanism
from kafkapy.security.sasl.scram_server import DecoyCredentials
from kafkapy.security.scram import random_text
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.security.delegation_token_manager import DelegationTokenManager
from kafkapy.server.security.principal_builders import authentication_context, make_principal_builder
from kafkapy.server.security.scram_credentials import ScramCredentials

if TYPE_CHECKING:
    from kafkapy.security.sasl.jwks import RefreshingJwks
    from kafkapy.server.security.jwks_fetcher import JwksFetcher

AnswerApiVersions = Callable[[ApiVersionsRequest | None, int], ApiVersionsResponse]

_NONCE_BYTES: Final = 17


class SaslListeners:
    """Creates the authenticators for connections of listeners with SASL.

    Invariant: `_fetchers` are those of each listener's key sets since it was last opened; earlier ones are stopped.
    """

    def __init__(
        self,
        config: KafkaConfig,
        credentials: ScramCredentials,
        answer_api_versions: AnswerApiVersions,
        clock: Clock,
        tokens: DelegationTokenManager,
    ) -> None:
        """Create the authenticators' factory.

        Args:
            config: The broker's.
            credentials: The SCRAM users.
            answer_api_versions: Returns the response to ApiVersions, which is sent even before authentication.
            clock: The broker's; key sets of identity providers are fetched in its threads.
            tokens: Delegation tokens, for logins by SCRAM.
        """
        self._config = config
        self._answer_api_versions = answer_api_versions
        self._clock = clock
        self._fetchers: dict[str, list[JwksFetcher]] = {}
        self._services = SaslServices(
            clock,
            lambda: random_text(secrets.token_bytes(_NONCE_BYTES)),
            DecoyCredentials(_decoy_secret(config)),
            credentials.credential_of,
            tokens.login if tokens.enabled else None,
        )

    def of(self, end_point: EndPoint) -> NewAuthenticator | None:
        """Return None for a listener without SASL.

        Raises:
            ConfigException: The configuration is invalid, or names an unknown mechanism.
        """
        if not end_point.security_protocol.startswith("SASL"):
            return None
        listener = end_point.listener_name
        mechanisms, builder = self._made(self._config, listener)
        self._fetch(listener, mechanisms.jwks)
        return partial(self._authenticator, mechanisms, builder)

    def check(self, config: KafkaConfig, end_point: EndPoint) -> None:
        """Raise ConfigException if the listener could not be opened with these configs."""
        if end_point.security_protocol.startswith("SASL"):
            self._made(config, end_point.listener_name)

    def closed(self, listener: str) -> None:
        """Stop fetching the key sets of a closed listener."""
        self._fetch(listener, [])

    def _made(self, config: KafkaConfig, listener: str) -> tuple[ListenerMechanisms, PrincipalBuilder]:
        _use_krb5_conf_of_java_options()
        services = self._services._replace(jaas_file=load_jaas_file())
        mechanisms = make_listener_mechanisms(listener, partial(_text_of, config, listener), services)
        return mechanisms, make_principal_builder(config, listener)

    def _authenticator(
        self, mechanisms: ListenerMechanisms, builder: PrincipalBuilder, context: RequestContext
    ) -> SaslServerAuthenticator:
        return SaslServerAuthenticator(
            mechanisms.factories,
            partial(_principal, builder, context),
            self._answer_api_versions,
            mechanisms.max_reauth_ms,
            self._clock,
        )

    def _fetch(self, listener: str, key_sets: list[tuple[str, RefreshingJwks]]) -> None:
        for fetcher in self._fetchers.pop(listener, ()):
            fetcher.stop()
        if not key_sets:
            return
        # Without such listeners, a broker needs neither cryptography nor an HTTP client.
        from kafkapy.server.security.jwks_fetcher import JwksFetcher

        self._fetchers[listener] = [JwksFetcher(url, keys, self._clock) for url, keys in key_sets]
        for fetcher in self._fetchers[listener]:
            fetcher.start()


def _text_of(config: KafkaConfig, listener: str, name: str) -> str | None:
    own = config.originals.get(f"listener.name.{listener.lower()}.{name}")
    return config.originals.get(name) if own is None else own


def _principal(builder: PrincipalBuilder, context: RequestContext, mechanism: SaslMechanism) -> KafkaPrincipal:
    principal = builder.build(authentication_context(context, mechanism, context.authentication.peer_certificate))
    return TokenPrincipal(*principal) if mechanism.is_delegation_token else principal


def _decoy_secret(config: KafkaConfig) -> bytes:
    """Return a secret shared by all brokers, so that they have the same salt for a user that does not exist; else one
    of this process.
    """
    encoder_secret = config.password_encoder_secret
    for shared in (config.token_secret_key, None if encoder_secret is None else encoder_secret.value):
        if shared is not None:
            return hashlib.sha256(b"kafkapy SCRAM decoys\0" + shared.encode()).digest()
    return secrets.token_bytes(32)


def _use_krb5_conf_of_java_options() -> None:
    path = java_properties().get("java.security.krb5.conf")
    if path is not None:
        os.environ.setdefault("KRB5_CONFIG", path)
