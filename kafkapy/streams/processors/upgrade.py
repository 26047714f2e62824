"""The configuration `upgrade.from`: while instances of an older version run, records are written in its format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def upgrades_from_before(config: Mapping[str, Any], version: tuple[int, int]) -> bool:
    """Return whether the application is upgraded from a version before this one.

    Args:
        config: The application's configuration; `upgrade.from` has the form "2.8" or "0.10.1", or is missing.
        version: For example (3, 5).
    """
    upgrade_from = config.get("upgrade.from")
    if not upgrade_from:
        return False
    numbers = [int(number) for number in str(upgrade_from).split(".")]
    return (numbers[0], numbers[1]) < version
