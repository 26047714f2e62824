"""Client configs for connections to other brokers: time-outs, and the security of the receiving listener."""

from __future__ import annotations

from typing import Any, Final

from kafkapy.clients.config import ClientConfig
from kafkapy.clients.java_security import sasl_arguments
from kafkapy.errors import KafkaConfigurationError
from kafkapy.security.jaas import JaasConfigError, LoginModule, server_section
from kafkapy.security.jaas_file import load_jaas_file
from kafkapy.server.config.kafka_config import KafkaConfig
from kafkapy.server.inter_broker.broker_tls import BrokerTls

_SECURITY: Final = "org.apache.kafka.common.security"
_LOGIN_MODULES: Final = {
    "PLAIN": f"{_SECURITY}.plain.PlainLoginModule",
    "SCRAM-SHA-256": f"{_SECURITY}.scram.ScramLoginModule",
    "SCRAM-SHA-512": f"{_SECURITY}.scram.ScramLoginModule",
    "OAUTHBEARER": f"{_SECURITY}.oauthbearer.OAuthBearerLoginModule",
    "GSSAPI": "com.sun.security.auth.module.Krb5LoginModule",
}


def inter_broker_client_config(
    config: KafkaConfig, client_id: str, timeout_ms: int, listener: str | None = None
) -> ClientConfig:
    """Return the client config. `listener`: the other broker's listener; None: its inter-broker listener.

    TLS and SASL come from `ssl.*`, `sasl.mechanism.inter.broker.protocol` and `sasl.jaas.config`, the listener's own where
    it has them (`listener.name.<listener>.[<mechanism>.]...`), else from the JAAS file of `KAFKA_OPTS`, as in Kafka.
    Raises KafkaConfigurationError for invalid configs.
    """
    listener = listener or config.inter_broker_listener_name
    protocol = config.listener_security_protocol_map.get(listener, config.inter_broker_security_protocol)
    return ClientConfig(
        client_id=client_id,
        request_timeout_ms=timeout_ms,
        socket_connection_setup_timeout_ms=min(timeout_ms, config.socket_connection_setup_timeout_ms),
        receive_message_max_bytes=0x7FFFFFFF,
        max_in_flight_requests_per_connection=1,
        security_protocol=protocol,
        ssl_context=BrokerTls(config, listener) if protocol.endswith("SSL") else None,
        **(_sasl(config, listener) if protocol.startswith("SASL") else {}),
    )


def controller_client_config(config: KafkaConfig) -> ClientConfig:
    """Return the controller's client config (`controller.socket.timeout.ms`)."""
    timeout_ms = config.controller_socket_timeout_ms
    client = inter_broker_client_config(config, str(config.broker_id), timeout_ms, config.control_plane_listener_name)
    client.socket_connection_setup_timeout_ms = timeout_ms
    return client


def _sasl(config: KafkaConfig, listener: str) -> dict[str, Any]:
    """Return all `sasl.*` configs: the mechanism's on this listener (`listener.name.L.plain.sasl…`) first, then the
    listener's, then the broker's. The login itself may be in the JAAS file."""
    mechanism = config.listener_value(listener, "sasl.mechanism.inter.broker.protocol")
    prefix = f"listener.name.{listener.lower()}.{mechanism.lower()}."
    configs: dict[str, Any] = {}
    for name, key in config.definition.items():
        if name.startswith("sasl."):
            own = config.originals.get(prefix + name)
            value = config.listener_value(listener, name) if own is None else key.parse(own)
            if value is not None:
                configs[name] = getattr(value, "value", value)
    if "sasl.jaas.config" not in configs and (module := _module_of_file(listener, mechanism)) is not None:
        configs["sasl.jaas.config"] = module.text()
    return sasl_arguments({**configs, "sasl.mechanism": mechanism})


def _module_of_file(listener: str, mechanism: str) -> LoginModule | None:
    """Return the login module for this mechanism in the listener's section of the JAAS file of `KAFKA_OPTS`; None:
    there is none."""
    sections = load_jaas_file()
    if not sections:
        return None
    try:
        modules = server_section(sections, listener)
    except JaasConfigError as error:
        raise KafkaConfigurationError(str(error)) from None
    return next((module for module in modules if module.name == _LOGIN_MODULES.get(mechanism)), None)
