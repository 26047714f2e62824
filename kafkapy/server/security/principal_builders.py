"""Creates the principal builder of a listener (Kafka's `ChannelBuilders.createPrincipalBuilder`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from kafkapy.common.config_def import ConfigException
from kafkapy.network.request import RequestContext
from kafkapy.security.principal import KafkaPrincipal
from kafkapy.security.principal_builder import (
    DEFAULT_PRINCIPAL_BUILDER,
    AuthenticationContext,
    DefaultPrincipalBuilder,
    PrincipalBuilder,
)
from kafkapy.security.sasl.mechanism import SaslMechanism
from kafkapy.server.authorizer import host_of
from kafkapy.server.config.kafka_config import KafkaConfig, base_name
from kafkapy.server.config.plug_in import make_plug_in

CONFIG: Final = "principal.builder.class"


def make_principal_builder(config: KafkaConfig, listener: str) -> PrincipalBuilder:
    """Return Kafka's own builder, or one of the class in `principal.builder.class`, configured for a listener.

    Raises:
        ConfigException: It is unusable.
    """
    path = str(config.listener_value(listener, CONFIG))
    own = path != DEFAULT_PRINCIPAL_BUILDER
    builder = make_plug_in(path, CONFIG, PrincipalBuilder) if own else DefaultPrincipalBuilder()
    configs = {**config.originals, **{name: config.listener_value(listener, name) for name in config.definition}}
    try:
        builder.configure(configs)
    except ConfigException:
        raise
    except Exception as problem:
        raise ConfigException.invalid(CONFIG, path, f"Could not configure it: {problem!r}") from problem
    return builder


def make_plaintext_principal(config: KafkaConfig) -> Callable[[RequestContext], KafkaPrincipal] | None:
    """Return the function that names the clients of PLAINTEXT listeners; None: they are all ANONYMOUS.

    Raises:
        ConfigException: `principal.builder.class` is unusable.
    """
    paths = [path for name, path in config.originals.items() if base_name(name) == CONFIG]
    if all(path == DEFAULT_PRINCIPAL_BUILDER for path in paths):
        return None
    builders: dict[str, PrincipalBuilder] = {}
    for end_point in config.listeners:
        builders[end_point.listener_name] = make_principal_builder(config, end_point.listener_name)

    def principal_of(context: RequestContext) -> KafkaPrincipal:
        builder = builders.get(context.listener_name)
        if builder is None:  # the listener was opened later
            builder = builders[context.listener_name] = make_principal_builder(config, context.listener_name)
        return builder.build(authentication_context(context))

    return principal_of


def authentication_context(
    context: RequestContext, mechanism: SaslMechanism | None = None, peer_certificate: bytes | None = None
) -> AuthenticationContext:
    """Return the properties of a connection for its builder."""
    return AuthenticationContext(
        context.security_protocol, host_of(context), context.listener_name, peer_certificate, mechanism
    )
