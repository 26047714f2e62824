"""A change of some keys of a connector's config (KIP-477)."""

from __future__ import annotations

from kafkapy.common.java_hash_order import hash_map_copy_order
from kafkapy.connect.herder.infos import Config


def patched(config: Config, patch: Config) -> dict[str, str | None]:
    """Return the config with the patch's values; a value None takes its key away.

    Example:
        >>> patched({"a": "1", "b": "2"}, {"a": None, "b": "3"})
        {'b': '3'}
    """
    result = {name: config[name] for name in hash_map_copy_order(config)}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = value
    return result
