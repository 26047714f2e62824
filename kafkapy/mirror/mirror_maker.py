"""The dedicated mode: one process that copies between clusters, without a Connect cluster of its own (Kafka's `MirrorMaker`)."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Collection
from typing import Protocol

from kafkapy.common.config_def import ConfigException
from kafkapy.mirror.config.maker_config import MirrorMakerConfig
from kafkapy.mirror.replication_policy import SourceAndTarget

log = logging.getLogger("kafkapy.mirror")

_LOOK_S = 0.2


class Flow(Protocol):
    """A flow's worker."""

    @property
    def failure(self) -> BaseException | None: ...
    def start(self) -> None: ...
    def request_stop(self) -> None: ...
    def join(self) -> None: ...


class Servers(Protocol):
    """The servers of the process."""

    def start(self, pairs: list[SourceAndTarget]) -> None: ...
    def stop(self) -> None: ...


MakeFlow = Callable[[SourceAndTarget, Callable[[], None]], Flow]
"""Creates the worker of a flow, which calls the function when an error has ended it."""


class MirrorMaker:
    """Runs a worker for each flow to some clusters.

    Invariant: `start` creates the `_flows` one after the other, and `stop` stops each started one. `_is_ended` is set
    without a lock, and `wait` looks at it again and again: a signal's handler interrupts `wait` anywhere, also where it
    holds the event's lock, and a signal that comes just before `wait` blocks does not end that.
    """

    def __init__(
        self,
        config: MirrorMakerConfig,
        make_flow: MakeFlow,
        clusters: Collection[str] = (),
        servers: Servers | None = None,
    ) -> None:
        """
        Args:
            config: Configs of the dedicated mode.
            make_flow: Creates the worker of a flow.
            clusters: Aliases of the target clusters of this process. Default: all.
            servers: Those for other nodes and for metrics, started before the workers. Default: none.

        Raises:
            ConfigException: There is nothing to copy, or a cluster is unknown.
        """
        targets = set(clusters or config.clusters())
        if unknown := targets - set(config.clusters()):
            raise ConfigException(f"Unknown clusters: {', '.join(sorted(unknown))}. Name them in `clusters`")
        self.pairs = [pair for pair in config.cluster_pairs() if pair.target in targets]
        if not self.pairs:
            raise ConfigException("No source->target replication flows: set A->B.enabled = true")
        self._make_flow = make_flow
        self._servers = servers
        self._flows: list[Flow] = []
        self._is_ended = False
        self._woken = threading.Event()

    def start(self) -> None:
        """Create and start the workers. Raises ConfigException, KafkaError."""
        if self._servers is not None:
            self._servers.start(self.pairs)
        for pair in self.pairs:
            log.info("Starting the worker of %s", pair)
            flow = self._make_flow(pair, self._flow_ended)
            self._flows.append(flow)
            flow.start()
        log.info("MirrorMaker runs %d flows", len(self._flows))

    def wait(self) -> BaseException | None:
        """Wait until `request_stop`, or until an error ends a worker; return the error."""
        while not self._is_ended:
            self._woken.wait(_LOOK_S)
        return next((flow.failure for flow in self._flows if flow.failure is not None), None)

    def request_stop(self) -> None:
        """End `wait`. Callable from any thread and from signal handlers."""
        self._is_ended = True

    def _flow_ended(self) -> None:
        self._is_ended = True
        self._woken.set()

    def stop(self) -> None:
        """Stop all workers, and wait until they have ended."""
        if self._servers is not None:
            self._servers.stop()
        for flow in self._flows:
            flow.request_stop()
        for flow in self._flows:
            flow.join()
        log.info("MirrorMaker has ended")
