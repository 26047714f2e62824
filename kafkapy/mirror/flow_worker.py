"""A flow's worker in the dedicated mode, as created by Kafka's `MirrorMaker.addHerder` for a pair of clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kafkapy.connect.connect_process import find_cluster_id
from kafkapy.connect.distributed import make_distributed_herder
from kafkapy.connect.herder.distributed_config import DistributedConfig
from kafkapy.connect.herder.override_policies import AllOverridePolicy
from kafkapy.connect.plugins import Plugins
from kafkapy.connect.rest.worker_client import RestWorkerClient
from kafkapy.mirror.config.maker_config import MirrorMakerConfig
from kafkapy.mirror.mirror_herder import MirrorHerder
from kafkapy.mirror.replication_policy import SourceAndTarget

UNUSED_URL = "NOTUSED"
"""The URL of a worker without the internal REST server, as in Kafka."""


class FlowWorker:
    """The herder of a flow."""

    def __init__(self, pair: SourceAndTarget, herder: MirrorHerder, on_failure: Callable[[], None]) -> None:
        """
        Args:
            pair: The flow.
            herder: Its herder.
            on_failure: Called on the herder's thread when an error has ended the herder.
        """
        self.pair = pair
        self.herder = herder
        self._on_failure = on_failure

    @property
    def failure(self) -> BaseException | None:
        """Return the error that has ended the herder; None while it runs."""
        return self.herder.failure

    def start(self) -> None:
        self.herder.start(self._on_failure)

    def request_stop(self) -> None:
        """Ask the herder to end."""
        self.herder.request_stop()

    def join(self) -> None:
        """Wait until it has ended, a minute at most."""
        self.herder.stop()


def make_flow_worker(
    maker_config: MirrorMakerConfig, pair: SourceAndTarget, url: str, on_failure: Callable[[], None]
) -> FlowWorker:
    """Create the worker of a flow; connects to the target cluster to get its id.

    Args:
        maker_config: Of the dedicated mode.
        pair: The flow.
        url: URL of this process's internal REST server; `UNUSED_URL` without one.
        on_failure: Called when the worker ends by an error.

    Raises:
        ConfigException: A config is wrong.
        KafkaError: The target cluster cannot be reached.
    """
    config = DistributedConfig.of(maker_config.worker_config(pair))
    plugins = Plugins(config["plugin.path"] or ())
    cluster_id = find_cluster_id(config.originals)

    def make(**parts: Any) -> MirrorHerder:
        return MirrorHerder(maker_config, pair, client=RestWorkerClient(), cluster_id=cluster_id, **parts)

    herder = make_distributed_herder(config, plugins, AllOverridePolicy(), str(pair), url, make)
    return FlowWorker(pair, herder, on_failure)
