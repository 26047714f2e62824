"""Prints docs/mirrormaker_configs.md: `python -m tests.pages.generators.mirrormaker_configs`."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from kafkapy.connect.config import NO_DEFAULT, ConfigDef, ConfigKey, convert_to_string
from kafkapy.mirror.config.checkpoint_config import checkpoint_config_def
from kafkapy.mirror.config.connector_config import base_config_def
from kafkapy.mirror.config.heartbeat_config import heartbeat_config_def
from kafkapy.mirror.config.maker_config import maker_config_def
from kafkapy.mirror.config.security_configs import CLIENT_CONFIG_NAMES
from kafkapy.mirror.config.source_config import source_config_def
from tests.pages.generators.markdown import table

_INTRODUCTION = """\
# Configs of MirrorMaker

Generated from `kafkapy/mirror/config` by `python -m tests.pages.generators.mirrormaker_configs`; change that, not this
page. [MirrorMaker 2](mirrormaker.md) says which prefixes they have.

Beside these each connector has the configs of every source connector, and each cluster those of clients: `ssl.*`,
`sasl.*`.
"""
_HEAD = ("name", "type", "default", "allowed", "meaning")


def reference() -> str:
    """The page, as Markdown."""
    base = base_config_def()
    own = {name for name in base if name in CLIENT_CONFIG_NAMES or base[name].group is not None}
    parts = [
        _INTRODUCTION,
        "## The dedicated mode\n",
        _table(maker_config_def(), CLIENT_CONFIG_NAMES),
        "## All connectors\n",
        _table(base, own),
        "## MirrorSourceConnector\n",
        _table(source_config_def(), base),
        "## MirrorCheckpointConnector\n",
        _table(checkpoint_config_def(), base),
        "## MirrorHeartbeatConnector\n",
        _table(heartbeat_config_def(), base),
    ]
    return "\n".join(parts)


def _table(definitions: ConfigDef, left_out: Iterable[str]) -> str:
    omitted = set(left_out)
    return table(_HEAD, (_row(key) for name, key in definitions.keys.items() if name not in omitted))


def _row(key: ConfigKey) -> tuple[str, ...]:
    if key.default is NO_DEFAULT:
        default = "must be set"
    elif key.default is None:
        default = "none"
    else:
        default = f"`{convert_to_string(key.default, key.type)}`" if key.default not in ("", []) else "empty"
    return f"`{key.name}`", key.type.name.lower(), default, str(key.validator or ""), key.doc


if __name__ == "__main__":
    sys.stdout.write(reference())
