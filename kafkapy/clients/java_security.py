"""TLS and SASL configs of the Java clients as arguments of the Python clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kafkapy.errors import KafkaConfigurationError
from kafkapy.security.jaas import JaasConfigError, parse_jaas_config, single_module

_LOGIN_MODULES = {
    "org.apache.kafka.common.security.plain.PlainLoginModule",
    "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def tls_arguments(configs: Mapping[str, Any]) -> dict[str, Any]:
    """Stores must be PEM files: Python cannot read Java's. Raises `KafkaConfigurationError`."""
    arguments: dict[str, Any] = {}
    if "ssl.endpoint.identification.algorithm" in configs:
        arguments["ssl_check_hostname"] = bool(configs["ssl.endpoint.identification.algorithm"])
    for name in ("ssl.truststore.certificates", "ssl.keystore.certificate.chain", "ssl.keystore.key"):
        if configs.get(name):
            store = name.split(".")[1]
            raise KafkaConfigurationError(
                f"{name} is not supported: put the PEM into a file and set ssl.{store}.location"
            )
    for store, argument in (("truststore", "ssl_cafile"), ("keystore", "ssl_certfile")):
        location = configs.get(f"ssl.{store}.location")
        if location is None:
            continue
        type_ = configs.get(f"ssl.{store}.type", "JKS")
        if type_.upper() != "PEM":
            raise KafkaConfigurationError(
                f"ssl.{store}.type={type_} is not supported: convert {location} to PEM and set ssl.{store}.type=PEM"
            )
        arguments[argument] = location
    if configs.get("ssl.key.password") is not None:
        arguments["ssl_password"] = configs["ssl.key.password"]
    return arguments


def sasl_arguments(configs: Mapping[str, Any]) -> dict[str, Any]:
    """PLAIN and SCRAM with user and password of `sasl.jaas.config`. Raises `KafkaConfigurationError`."""
    mechanism = configs.get("sasl.mechanism", "GSSAPI")
    if mechanism not in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        raise KafkaConfigurationError(
            f"sasl.mechanism={mechanism} is not supported: use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
        )
    options = jaas_options(configs.get("sasl.jaas.config") or "")
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": options["username"],
        "sasl_plain_password": options["password"],
    }


def jaas_options(text: str) -> dict[str, str]:
    """The options of `LoginModule required name="value" ...;` with username and password. Raises `KafkaConfigurationError`."""
    try:
        module = single_module(parse_jaas_config(text))
    except JaasConfigError as error:
        raise KafkaConfigurationError(
            f"{error}. sasl.jaas.config must read like: org.apache.kafka.common.security.plain.PlainLoginModule required "
            'username="alice" password="secret";'
        ) from error
    if module.name not in _LOGIN_MODULES:
        raise KafkaConfigurationError(f"sasl.jaas.config: the login module {module.name} is not supported")
    for name in ("username", "password"):
        if name not in module.options:
            raise KafkaConfigurationError(f"sasl.jaas.config has no {name}")
    return module.options
