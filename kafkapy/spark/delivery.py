"""The options of the exactly-once sink."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kafkapy.spark.errors import OptionError
from kafkapy.spark.kafka_params import KafkaParams

OF_DELIVERY = ("sinkname", "batchid", "decisiontopic", "failondataloss")
_TRANSACTION_TIMEOUT_MS = 900_000
"""The brokers' default of transaction.max.timeout.ms."""


def delivery(name: str, text: str) -> str:
    value = text.strip().lower()
    if value not in ("at-least-once", "exactly-once"):
        raise OptionError(f"Option delivery is at-least-once or exactly-once, not '{text}'")
    return value


def sink_name(name: str, text: str) -> str:
    value = text.strip()
    if re.fullmatch(r"[A-Za-z0-9._-]{1,200}", value) is None:
        raise OptionError(
            f"Option sinkName is made of letters, digits, '.', '_' and '-', at most 200 of them, not '{text}'"
        )
    return value


@dataclass(frozen=True)
class ExactlyOnce:
    """`sink_name` and `batch_id` None: those of the writing streaming query."""

    sink_name: str | None
    batch_id: int | None
    decision_topic: str
    fail_on_data_loss: bool
    transaction_timeout_ms: int


def exactly_once_options(values: Mapping[str, Any], params: KafkaParams) -> ExactlyOnce:
    if params["acks"] not in (None, "all"):
        raise OptionError("Option delivery=exactly-once needs kafka.acks=all")
    if params["enable.idempotence"] is False:
        raise OptionError("Option delivery=exactly-once needs kafka.enable.idempotence=true")
    return ExactlyOnce(
        values["sinkName"],
        values["batchId"],
        values["decisionTopic"],
        values["failOnDataLoss"],
        params["transaction.timeout.ms"] or _TRANSACTION_TIMEOUT_MS,
    )
