"""Files with a connector's config, as `connect-standalone.sh` takes them: properties or JSON (KIP-977)."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from kafkapy.common import strict_json
from kafkapy.common.properties import load_file
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.storage import TargetState

_MOST_BYTES = 8 * 1024 * 1024


class ConnectorFile(NamedTuple):
    """`state`: the first one; None: started."""

    name: str
    config: dict[str, str | None]
    state: TargetState | None


def read_connector_file(path: str) -> ConnectorFile:
    """Read a file: a JSON object of the config, one of `name`, `config` and perhaps `initial_state`, or properties.

    Raises:
        ConnectException: The name is missing, or there are two.
        OSError: The file cannot be read.
    """
    if Path(path).stat().st_size > _MOST_BYTES:
        raise ConnectException(f"Connector configuration at '{path}' is larger than {_MOST_BYTES} bytes")
    try:
        parsed = strict_json.loads(Path(path).read_bytes())
    except ValueError as error:
        if path.endswith(".json"):
            raise ConnectException(f"Connector configuration at '{path}' is not valid JSON: {error}") from None
        parsed = None
    if isinstance(parsed, dict):
        if isinstance(parsed.get("config"), dict):
            return _of_request(path, parsed)
        if not any(isinstance(value, (dict, list)) for value in parsed.values()):
            return _of_config(path, {name: _text(value) for name, value in parsed.items()})
    try:
        return _of_config(path, dict(load_file(path)))
    except ValueError as error:
        raise ConnectException(f"Connector configuration at '{path}' cannot be read: {error}") from None


def _of_config(path: str, config: dict[str, str | None]) -> ConnectorFile:
    name = config.get("name")
    if name is None:
        raise ConnectException(f"Connector configuration at '{path}' is missing the mandatory 'name' configuration")
    return ConnectorFile(name, config, None)


def _of_request(path: str, parsed: dict[str, Any]) -> ConnectorFile:
    config = {name: _text(value) for name, value in parsed["config"].items()}
    name = _text(parsed.get("name"))
    if name is None:
        raise ConnectException(f"Connector configuration at '{path}' is missing the mandatory 'name' configuration")
    if config.setdefault("name", name) != name:
        raise ConnectException(
            f"Connector name configuration in 'config' doesn't match the one specified in 'name' at '{path}'"
        )
    state = _text(parsed.get("initial_state"))
    try:
        return ConnectorFile(name, config, None if state is None else TargetState(state.upper()))
    except ValueError:
        raise ConnectException(f"Connector configuration at '{path}' has an unknown initial_state: {state}") from None


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)
