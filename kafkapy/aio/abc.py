"""The names that programs import from `aiokafka.abc`. A token provider may be any object with a method `token()`;
deriving it from this class is not needed."""

from __future__ import annotations

from kafkapy.consumer.listener import ConsumerRebalanceListener
from kafkapy.oauth import AbstractTokenProvider

__all__ = ["AbstractTokenProvider", "ConsumerRebalanceListener"]
