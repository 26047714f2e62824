"""Path, encoding and decoding of every znode (after Kafka's `ZkData`). Pure: no connection, no clock."""

from __future__ import annotations

from dataclasses import dataclass

from kafkapy.common.broker import Broker


@dataclass(frozen=True, slots=True)
class BrokerInfo:
    """What a broker registers: itself, the version of the JSON and its JMX port."""

    broker: Broker
    version: int = 5
    jmx_port: int = -1
