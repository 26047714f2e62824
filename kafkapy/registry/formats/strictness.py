"""How strictly a schema is validated: stored schemas, and those registered elsewhere, must remain readable."""

from __future__ import annotations

from enum import IntEnum


class Strictness(IntEnum):
    """The origin of a text. A higher member includes the checks of the lower ones."""

    STORED = 0
    """From the registry's log, which may have schemas that newer registries reject. Only unparsable texts are
    rejected."""
    GIVEN = 1
    """From a request that looks a schema up or imports it with its id: the syntax must be valid."""
    NEW = 2
    """A schema to be registered: names, defaults and references are validated, too."""
