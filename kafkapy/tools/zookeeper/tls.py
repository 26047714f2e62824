"""The option `--zk-tls-config-file` of all tools that connect to ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.extras import MissingExtra
from kafkapy.common.properties import load_file
from kafkapy.security.jaas_file import JAAS_FILE, java_properties
from kafkapy.tools.common.command_line import ToolError, ToolOption
from kafkapy.zk.client_security import (
    SASL_SECTION,
    SYSTEM_PROPERTIES,
    ZkClientSecurity,
    security_of_broker,
    security_of_tool,
)

TLS_CONFIG_FILE: Final = ToolOption(
    "zk-tls-config-file",
    "A properties file that says how to speak to ZooKeeper over TLS. Any properties other than "
    f"{', '.join(sorted(SYSTEM_PROPERTIES))} are ignored.",
    "ZooKeeper TLS configuration",
)


def tool_security(tls_config_file: str | None, jaas_section: str | None = None) -> ZkClientSecurity:
    """TLS of the file and of `KAFKA_OPTS`, SASL of the JAAS file.

    Args:
        tls_config_file: The value of the option.
        jaas_section: The section that has the user; empty: no SASL; None: `Client`, or what `KAFKA_OPTS` says.

    Raises:
        ToolError: Something of it cannot be used.
    """
    system = java_properties()
    if jaas_section:
        system = {**system, SASL_SECTION: jaas_section}
    elif jaas_section is not None:
        system = {name: value for name, value in system.items() if name not in (JAAS_FILE, SASL_SECTION)}
    security = _made(lambda: security_of_tool(_properties(tls_config_file), system))
    if jaas_section and security.user is None:
        raise ToolError(
            f"{system.get(JAAS_FILE)}: there is no section {jaas_section}"
            if JAAS_FILE in system
            else f"the section {jaas_section} needs a JAAS file: KAFKA_OPTS=-D{JAAS_FILE}=FILE"
        )
    return security


def tool_authorizer_security(
    properties: Mapping[str, str], tls_config_file: str | None, prefix: str
) -> ZkClientSecurity:
    """The same for the ZooKeeper of ACLs (`AclCommand.AuthorizerService`).

    Args:
        properties: Those of the authorizer.
        tls_config_file: What it says goes before them.
        prefix: Names with it, in both, hold before those without.

    Raises:
        ToolError: Something of it cannot be used.
    """

    def security() -> ZkClientSecurity:
        known = {
            name: value
            for name, value in _properties(tls_config_file).items()
            if name.removeprefix(prefix) in SYSTEM_PROPERTIES
        }
        return security_of_broker({**properties, **known}, prefix=prefix)

    return _made(security)


def _properties(tls_config_file: str | None) -> dict[str, str]:
    return {} if tls_config_file is None else load_file(tls_config_file)


def _made(make: Callable[[], ZkClientSecurity]) -> ZkClientSecurity:
    try:
        return make()
    except FileNotFoundError as error:
        raise ToolError(f"{error.filename}: no such file") from None
    except OSError as error:
        raise ToolError(f"{error.filename}: {error.strerror}") from None
    except (ConfigException, MissingExtra, ValueError) as error:
        raise ToolError(str(error)) from None
