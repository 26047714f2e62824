"""What programs import from `aiokafka.abc`. Any object with a method `token()` gives tokens; this class is not needed."""

from __future__ import annotations

from kafkapy.consumer.listener import ConsumerRebalanceListener
from kafkapy.oauth import AbstractTokenProvider

__all__ = ["AbstractTokenProvider", "ConsumerRebalanceListener"]
