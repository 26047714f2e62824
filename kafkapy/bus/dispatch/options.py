"""The options of a dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from kafkapy.bus.dispatch.backoff import Retries
from kafkapy.bus.dispatch.dead_letters import dead_letter_topic
from kafkapy.errors import KafkaConfigurationError


@dataclass(frozen=True, kw_only=True)
class DispatcherOptions:
    """`max_parallel`: concurrent handlers. `max_queued`: records in memory at which fetching pauses.
    `handler_timeout_s`: time limit of an attempt, in seconds. `dead_letter_topic`: a name, or a function of topic and
    group. `transactional_id`: exactly once, see `Dispatcher`."""

    group: str
    retries: Retries = field(default_factory=Retries)
    max_parallel: int = 32
    max_queued: int = 1_000
    handler_timeout_s: float = 300.0
    commit_interval_s: float = 1.0
    revoke_timeout_s: float = 30.0
    stop_timeout_s: float = 30.0
    dead_letter_topic: str | Callable[[str, str], str] = dead_letter_topic
    transactional_id: str | None = None

    def __post_init__(self) -> None:
        for name in ("max_parallel", "max_queued", "handler_timeout_s", "commit_interval_s"):
            if getattr(self, name) <= 0:
                raise KafkaConfigurationError(f"{name} must be above 0; it is {getattr(self, name)}")
        if not self.group:
            raise KafkaConfigurationError("A dispatcher needs the name of its group")

    def dead_letters_of(self, topic: str) -> str:
        to = self.dead_letter_topic
        return to if isinstance(to, str) else to(topic, self.group)
