"""TLS and SASL configs of the Java clients as arguments of the Python clients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kafkapy.common.config_def import ConfigException
from kafkapy.common.extras import MissingExtra
from kafkapy.errors import KafkaConfigurationError
from kafkapy.security.jaas import JaasConfigError, parse_jaas_config, single_module

if TYPE_CHECKING:
    import ssl

_LOGIN_MODULES = {
    "org.apache.kafka.common.security.plain.PlainLoginModule",
    "org.apache.kafka.common.security.scram.ScramLoginModule",
}


_OPTION_FOR_FILE = {"ssl.truststore.location": "ssl_cafile", "ssl.keystore.location": "ssl_certfile"}
_WITH_OPTIONS = {
    *_OPTION_FOR_FILE,
    "ssl.truststore.type",
    "ssl.keystore.type",
    "ssl.key.password",
    "ssl.endpoint.identification.algorithm",
}


def tls_arguments(configs: Mapping[str, Any]) -> dict[str, Any]:
    """What the options `ssl_*` say is said with them: files of PEM. Other stores and settings make an `ssl_context`.

    Raises `KafkaConfigurationError`.
    """
    given = {name: value for name, value in configs.items() if value is not None}
    in_pem = all(
        str(given.get(name.replace("location", "type"), "JKS")).upper() == "PEM"
        for name in _OPTION_FOR_FILE
        if name in given
    )
    if not in_pem or not given.keys() <= _WITH_OPTIONS:
        return {"ssl_context": _context(configs)}
    arguments: dict[str, Any] = {}
    if "ssl.endpoint.identification.algorithm" in configs:
        arguments["ssl_check_hostname"] = bool(configs["ssl.endpoint.identification.algorithm"])
    arguments |= {option: given[name] for name, option in _OPTION_FOR_FILE.items() if name in given}
    if "ssl.key.password" in given:
        arguments["ssl_password"] = given["ssl.key.password"]
    return arguments


def _context(configs: Mapping[str, Any]) -> ssl.SSLContext:
    from kafkapy.security.tls.contexts import client_context

    try:
        return client_context(configs)
    except (ConfigException, MissingExtra) as error:
        raise KafkaConfigurationError(str(error)) from None


def sasl_arguments(configs: Mapping[str, Any]) -> dict[str, Any]:
    """PLAIN and SCRAM with user and password of `sasl.jaas.config`. Raises `KafkaConfigurationError`."""
    mechanism = configs.get("sasl.mechanism", "GSSAPI")
    if mechanism not in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        raise KafkaConfigurationError(
            f"sasl.mechanism={mechanism} is not supported: use PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
        )
    options = jaas_options(configs.get("sasl.jaas.config") or "")
    arguments = {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": options["username"],
        "sasl_plain_password": options["password"],
    }
    # Kafka's ScramLoginModule alone looks at it.
    if mechanism != "PLAIN" and options.get("tokenauth", "").lower() == "true":
        arguments["sasl_token_auth"] = True
    return arguments


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
