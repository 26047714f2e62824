"""The exit statuses of a process of an application."""

from __future__ import annotations

from typing import Final

FAILED: Final = 1
"""The instance has failed; a restart may help."""
UNUSABLE: Final = 2
"""The topology or a config is wrong; a restart would fail again."""
APPLICATION_STOPPED: Final = 3
"""An instance has requested a shutdown of the application."""
