"""Where kafka-python 2.1 and later have `AbstractTokenProvider`."""

from kafkapy.oauth import AbstractTokenProvider

__all__ = ["AbstractTokenProvider"]
