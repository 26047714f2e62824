"""How much of a schema is validated: what is kept already, or was registered elsewhere, must stay readable."""

from __future__ import annotations

from enum import IntEnum


class Strictness(IntEnum):
    """Where a text comes from. A higher member includes the checks of those below it."""

    STORED = 0
    """The registry's log: older registries wrote there what today's would refuse. Only what cannot be understood is refused."""
    GIVEN = 1
    """A request that looks a schema up or imports it with its id: the text must be of its format's syntax."""
    NEW = 2
    """A schema that is to be registered: names, defaults and references are validated, too."""
