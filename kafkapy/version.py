"""The version of this package."""

from kafkapy.clients.software import VERSION as __version__

__all__ = ["__version__"]
