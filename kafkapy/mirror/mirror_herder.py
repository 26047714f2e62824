"""The herder of one flow in the dedicated mode (Kafka's `MirrorHerder`)."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import quote

from kafkapy.connect.errors import NotLeaderException
from kafkapy.connect.group.assignment import ConnectAssignment
from kafkapy.connect.herder.callbacks import Callback
from kafkapy.connect.herder.distributed_herder import DistributedHerder
from kafkapy.mirror.config.maker_config import CONNECTORS, MirrorMakerConfig
from kafkapy.mirror.replication_policy import SourceAndTarget

log = logging.getLogger("kafkapy.mirror")

_RETRY_MS = 10_000


class MirrorHerder(DistributedHerder):
    """Writes the configs of the flow's connectors when it becomes the leader of the flow's workers.

    Invariant: `_was_leader` is whether that was done since this worker became the leader. Failed writes are retried
    while it is the leader.
    """

    def __init__(self, maker_config: MirrorMakerConfig, pair: SourceAndTarget, **herder: Any) -> None:
        """
        Args:
            maker_config: Configs of the dedicated mode.
            pair: The flow.
            herder: Arguments of `DistributedHerder`.
        """
        super().__init__(**herder)
        self._maker_config = maker_config
        self._pair = pair
        self._was_leader = False

    def _start_work(self, assignment: ConnectAssignment) -> None:
        super()._start_work(assignment)
        if self.is_leader and not self._was_leader:
            log.info("This worker leads %s and configures its connectors", self._pair)
            for connector in CONNECTORS:
                self._configure(connector)
        self._was_leader = self.is_leader

    def _configure(self, connector: str) -> None:
        wanted = self._maker_config.connector_config(self._pair, connector)
        if self.config_state.raw_connector_config(connector) == wanted:
            log.info("The config of %s of %s is up to date", connector, self._pair)
            return

        def written(error: BaseException | None, _: Any) -> None:
            if error is None:
                log.info("Configured %s of %s", connector, self._pair)
            elif isinstance(error, NotLeaderException):
                log.info("This worker does not lead %s now: %s is configured by the next leader", self._pair, connector)
                self._was_leader = False
            else:
                log.error("%s of %s cannot be configured, which is tried again: %s", connector, self._pair, error)
                self.add_request(lambda: self._configure_again(connector), written, _RETRY_MS)

        self.put_connector_config(connector, wanted, written)

    def _configure_again(self, connector: str) -> None:
        if self.is_leader:
            self._configure(connector)

    def _to_leader(self, path: str, method: str, body: Any, callback: Callback) -> None:
        super()._to_leader(f"{flow_path(self._pair)}/{path}", method, body, callback)


def flow_path(pair: SourceAndTarget) -> str:
    """Return the path for other nodes' requests to a flow's worker.

    Example:
        >>> flow_path(SourceAndTarget("A b", "C/d"))
        'A%20b/C%2Fd'
    """
    return f"{quote(pair.source, safe='')}/{quote(pair.target, safe='')}"
