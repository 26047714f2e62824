"""`--zk-tls-config-file`, which all tools that speak to ZooKeeper have."""

from __future__ import annotations

from typing import Final

from kafkapy.common.config_def import ConfigException
from kafkapy.common.extras import MissingExtra
from kafkapy.common.properties import load_file
from kafkapy.tools.command_line import ToolError, ToolOption
from kafkapy.zk.client_security import SYSTEM_PROPERTIES, ZkClientSecurity, security_of_tool

TLS_CONFIG_FILE: Final = ToolOption(
    "zk-tls-config-file",
    "A properties file that says how to speak to ZooKeeper over TLS. Any properties other than "
    f"{', '.join(sorted(SYSTEM_PROPERTIES))} are ignored.",
    "ZooKeeper TLS configuration",
)


def tool_security(tls_config_file: str | None) -> ZkClientSecurity:
    """TLS of the file and of `KAFKA_OPTS`, SASL of the JAAS file. `ToolError` says what of it cannot be used."""
    try:
        return security_of_tool(None if tls_config_file is None else load_file(tls_config_file))
    except FileNotFoundError as error:
        raise ToolError(f"{error.filename}: no such file") from None
    except OSError as error:
        raise ToolError(f"{error.filename}: {error.strerror}") from None
    except (ConfigException, MissingExtra, ValueError) as error:
        raise ToolError(str(error)) from None
