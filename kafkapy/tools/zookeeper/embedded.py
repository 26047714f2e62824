"""The embedded ZooKeeper as a separate process, for more than one broker: zookeeper-server-start."""

from __future__ import annotations

import logging
from typing import Any

from kafkapy.common.capabilities import require_server_support
from kafkapy.common.config_def import ConfigException
from kafkapy.common.extras import MissingExtra, need
from kafkapy.common.logging_setup import LoggingConfigError, setup_logging
from kafkapy.common.properties import load_file
from kafkapy.runtime import garbage
from kafkapy.tools.common.command_line import ToolError
from kafkapy.zk.embedded.settings import ServerProperties, SettingsError

log = logging.getLogger("kafkapy.zk.EmbeddedZooKeeper")


def properties_of(file: str) -> ServerProperties:
    """The config of a file. Raises ToolError with the problem."""
    try:
        require_server_support("The embedded ZooKeeper")
        need("broker", "twisted", by="The embedded ZooKeeper")
        return ServerProperties.of(load_file(file))
    except SettingsError as error:
        raise ToolError(f"{file}: {error}") from None
    except MissingExtra as missing:
        raise ToolError(str(missing)) from None


def run(properties: ServerProperties) -> int:
    """Run until a signal stops it; returns the exit status."""
    try:
        setup_logging()
    except LoggingConfigError as error:
        raise ToolError(str(error)) from None
    from twisted.internet import reactor as _reactor

    from kafkapy.tools.servers.stop_signals import StopSignals
    from kafkapy.zk.embedded.server import AddressError, EmbeddedZooKeeper, StorageError

    reactor: Any = _reactor
    status = 0

    def failed(_: str) -> None:
        nonlocal status
        status = 1
        reactor.stop()

    zookeeper = EmbeddedZooKeeper(
        properties.data_dir,
        properties.host,
        properties.port,
        reactor=reactor,
        settings=properties.settings,
        data_log_dir=properties.data_log_dir,
        on_failure=failed,
        secure=properties.secure,
    )
    try:
        zookeeper.start()
    except (AddressError, StorageError, ConfigException, MissingExtra) as error:
        raise ToolError(str(error)) from None
    if properties.without_effect:
        log.warning("Without effect in the embedded ZooKeeper: %s", ", ".join(properties.without_effect))
    log.warning("One node is for development and tests: production wants an ensemble (docs/embedded_zookeeper.md)")
    # Nodes are freed by reference counting: walks of the garbage collector through all of them would find nothing.
    garbage.configure(middle_before_full=3_000)
    reactor.callWhenRunning(StopSignals(reactor).install)
    reactor.addSystemEventTrigger("before", "shutdown", zookeeper.stop)
    reactor.run()
    logging.shutdown()
    return status
