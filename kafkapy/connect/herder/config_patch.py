"""A change of some keys of a connector's config (KIP-477)."""

from __future__ import annotations

from kafkapy.common.java_hash_order import hash_map_copy
from kafkapy.connect.herder.infos import Config


def patched(config: Config, patch: Config) -> dict[str, str | None]:
    """Return the config with the patch's values, in the order that Java's worker writes to the configs topic.

    Args:
        config: The present one.
        patch: What changes; a value None takes its key away.

    Example:
        >>> patched({"a": "1", "b": "2"}, {"a": None, "b": "3"})
        {'b': '3'}
    """
    changes = {name: value for name, value in patch.items() if value is not None}
    removed = patch.keys() - changes.keys()
    return {name: value for name, value in hash_map_copy(config, changes).items() if name not in removed}
