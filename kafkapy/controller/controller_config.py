"""The controller's configs."""

from __future__ import annotations

from dataclasses import dataclass, field

from kafkapy.clients.config import ClientConfig


@dataclass(slots=True)
class ControllerConfig:
    """Filled by the server from KafkaConfig; field names are the config keys with underscores.

    `unclean_leader_election_enable` is dynamic: `KafkaController.enable_default_unclean_leader_election` and
    `disable_default_unclean_leader_election` change it.
    """

    broker_id: int
    inter_broker_listener_name: str = "PLAINTEXT"
    inter_broker_protocol_version: str = "3.9-IV0"
    control_plane_listener_name: str | None = None
    delete_topic_enable: bool = True
    unclean_leader_election_enable: bool = False
    auto_leader_rebalance_enable: bool = True
    leader_imbalance_check_interval_seconds: int = 300
    leader_imbalance_per_broker_percentage: int = 10
    client: ClientConfig = field(default_factory=ClientConfig)
    """Config of connections to brokers: time-outs (`controller.socket.timeout.ms`) and security."""

    @property
    def control_listener_name(self) -> str:
        """The brokers' listener for the controller's requests (KIP-291)."""
        return self.control_plane_listener_name or self.inter_broker_listener_name
