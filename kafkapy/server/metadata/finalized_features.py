"""The epoch of the cluster's finalized features, for ApiVersions responses (Kafka's
`FinalizedFeatureChangeListener`)."""

from __future__ import annotations

import logging
from collections.abc import Callable

from kafkapy.zk.errors import ZooKeeperError
from kafkapy.zk.handlers import StateChangeHandler, ZNodeChangeHandler
from kafkapy.zk.kafka_zk_client import KafkaZkClient
from kafkapy.zk.zk_data import FeatureZNode

log = logging.getLogger("kafkapy.server.FinalizedFeatureChangeListener")

UNKNOWN_EPOCH = -1


class FinalizedFeatureListener:
    """Invariant: `epoch` is the data version of /feature as last read, -1 while there is none or it disables versioning."""

    def __init__(self, zk_client: KafkaZkClient, in_background: Callable[[Callable[[], None]], object]) -> None:
        """`in_background` runs a blocking function in the pool; it may be called from any thread."""
        self.epoch = UNKNOWN_EPOCH
        self._zk = zk_client
        self._in_background = in_background

    def startup(self) -> None:
        """Read the epoch once (blocks), and again after each change and in each new ZooKeeper session."""

        def changed() -> None:
            self._in_background(self._read)

        self._zk.register_znode_change_handler(
            ZNodeChangeHandler(
                FeatureZNode.path, handle_creation=changed, handle_deletion=changed, handle_data_change=changed
            )
        )
        self._zk.register_state_change_handler(
            StateChangeHandler("finalized-features", after_initializing_session=changed)
        )
        self._read()

    def _read(self) -> None:
        try:
            data, version = self._zk.get_data_and_version(FeatureZNode.path)
            if data is None:
                self._zk.path_exists(FeatureZNode.path)
            enabled = data is not None and FeatureZNode.decode(data).enabled
            self.epoch = version if enabled else UNKNOWN_EPOCH
        except (ZooKeeperError, ValueError, KeyError) as error:
            log.warning("Could not read %s: %s", FeatureZNode.path, error)
