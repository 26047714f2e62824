"""SASL of the broker's listeners: which mechanisms each has, and what they check passwords and tokens with."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from kafkapy.common.broker import EndPoint
from kafkapy.common.config_def import ConfigException
from kafkapy.common.time import Time
from kafkapy.network.request import RequestContext
from kafkapy.network.socket_server import NewAuthenticator
from kafkapy.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kafkapy.security.jaas import JaasConfigError, LoginModule, parse_jaas_config, parse_jaas_file
from kafkapy.security.kerberos import KerberosShortNamer
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.security.sasl.authenticator import SaslServerAuthenticator
from kafkapy.security.sasl.mechanism import SaslMechanism
from kafkapy.security.sasl.oauth_server import OAuthBearerServer
from kafkapy.security.sasl.plain_server import PlainServer, PlainUsers
from kafkapy.security.sasl.principal_builder import DefaultSaslPrincipalBuilder, SaslAuthenticationContext
from kafkapy.security.sasl.scram_server import DecoyCredentials, ScramServer
from kafkapy.security.sasl.unsecured_jws import UnsecuredValidator, asks_for_unsecured_tokens
from kafkapy.security.scram import SCRAM_HASHES, random_text
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.security.scram_credentials import ScramCredentials

MECHANISMS: Final = ("PLAIN", *SCRAM_HASHES, "OAUTHBEARER")
"""What is served of `sasl.enabled.mechanisms`."""

AnswerApiVersions = Callable[[ApiVersionsRequest | None, int], ApiVersionsResponse]

_NONCE_BYTES = 17
_JAAS_FILE = "java.security.auth.login.config"


class SaslListeners:
    """Makes what authenticates the connections of listeners with SASL."""

    def __init__(
        self,
        config: KafkaConfig,
        credentials: ScramCredentials,
        answer_api_versions: AnswerApiVersions,
        time: Time,
        jaas_file: str | None = None,
    ) -> None:
        """
        Args:
            config: The broker's.
            credentials: Users of SCRAM.
            answer_api_versions: What a client is told before it is authenticated, too.
            time: The broker's clock.
            jaas_file: Where listeners without `sasl.jaas.config` find their login modules; None: of `KAFKA_OPTS`, as Java's
                brokers have it (`-Djava.security.auth.login.config=FILE`).
        """
        self._config = config
        self._credentials = credentials
        self._answer_api_versions = answer_api_versions
        self._time = time
        self._jaas_file = jaas_file if jaas_file is not None else _jaas_file_of_java_options()
        self._decoys = DecoyCredentials(secrets.token_bytes(32))

    def of(self, end_point: EndPoint) -> NewAuthenticator | None:
        """None for a listener without SASL.

        Raises:
            ConfigException: A mechanism is not served, or has nothing to check passwords with.
        """
        if not end_point.security_protocol.startswith("SASL"):
            return None
        listener, config = end_point.listener_name, self._config
        enabled: list[str] = config.listener_value(listener, "sasl.enabled.mechanisms")
        mechanisms = {name: self._mechanism(listener, name) for name in enabled}
        if not mechanisms:
            raise ConfigException(f"sasl.enabled.mechanisms: listener {listener} has SASL, but no mechanism is enabled")
        reauth_ms = {
            name: config.own_listener_value(
                f"{listener}.{name}", "connections.max.reauth.ms", config.connections_max_reauth_ms
            )
            for name in enabled
        }
        rules = config.listener_value(listener, "sasl.kerberos.principal.to.local.rules")
        builder = DefaultSaslPrincipalBuilder(KerberosShortNamer(rules))
        return partial(self._authenticator, mechanisms, reauth_ms, builder)

    def _authenticator(
        self,
        mechanisms: Mapping[str, Callable[[], SaslMechanism]],
        reauth_ms: Mapping[str, int],
        builder: DefaultSaslPrincipalBuilder,
        context: RequestContext,
    ) -> SaslServerAuthenticator:
        return SaslServerAuthenticator(
            mechanisms, partial(_principal, builder, context), self._answer_api_versions, reauth_ms, self._time
        )

    def _mechanism(self, listener: str, name: str) -> Callable[[], SaslMechanism]:
        if name not in MECHANISMS:
            raise ConfigException.invalid(
                "sasl.enabled.mechanisms", name, f"listener {listener}: kafkapy serves {', '.join(MECHANISMS)}"
            )
        if name in SCRAM_HASHES:
            credential_of = partial(self._credentials.credential_of, name)
            return lambda: ScramServer(name, credential_of, None, self._decoys, _nonce, self._time)
        modules = self._modules(listener, name)
        if name == "PLAIN":
            users = PlainUsers.of(modules)
            return lambda: PlainServer(users)
        options = next((module.options for module in modules if "OAuthBearer" in module.name), {})
        if not asks_for_unsecured_tokens(options):
            raise ConfigException(
                f"listener {listener}: OAUTHBEARER takes unsecured tokens only so far: its login module needs an option "
                "unsecuredValidator…"
            )
        validator = UnsecuredValidator(options, self._time)
        return lambda: OAuthBearerServer(validator, self._time)

    def _modules(self, listener: str, mechanism: str) -> tuple[LoginModule, ...]:
        """The login modules of a mechanism, where Kafka looks for them, in its order."""
        name = f"listener.name.{listener.lower()}.{mechanism.lower()}.sasl.jaas.config"
        text = self._config.originals.get(name)
        try:
            if text is not None:
                return parse_jaas_config(text, name)
            if self._jaas_file is None:
                raise ConfigException(
                    f"listener {listener} has SASL by {mechanism}: set {name}, or -D{_JAAS_FILE} in KAFKA_OPTS"
                )
            with open(self._jaas_file, encoding="utf-8") as file:
                sections = parse_jaas_file(file.read(), self._jaas_file)
        except JaasConfigError as problem:
            raise ConfigException(str(problem)) from None
        except OSError as problem:
            raise ConfigException(f"The JAAS file {self._jaas_file} cannot be read: {problem.strerror}") from None
        for section in (f"{listener.lower()}.KafkaServer", "KafkaServer"):
            if section in sections:
                return sections[section]
        raise ConfigException(f"{self._jaas_file} has no section KafkaServer")


def _principal(
    builder: DefaultSaslPrincipalBuilder, context: RequestContext, mechanism: SaslMechanism
) -> KafkaPrincipal:
    return builder.build(
        SaslAuthenticationContext(mechanism, context.security_protocol, context.client_host, context.listener_name)
    )


def _nonce() -> str:
    return random_text(secrets.token_bytes(_NONCE_BYTES))


def _jaas_file_of_java_options() -> str | None:
    prefix = f"-D{_JAAS_FILE}="
    options = os.environ.get("KAFKA_OPTS", "").split()
    return next((option.removeprefix(prefix) for option in options if option.startswith(prefix)), None)
