"""connect-mirror-maker: copies topics and groups between clusters until a signal stops it (MirrorMaker 2)."""

from __future__ import annotations

import logging
import signal
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.clients.software import VERSION_LINE
from kafkapy.common.capabilities import STOP_SIGNALS
from kafkapy.common.properties import load_file

if TYPE_CHECKING:
    from kafkapy.mirror.mirror_maker import MirrorMaker
    from kafkapy.mirror.replication_policy import SourceAndTarget

log = logging.getLogger("kafkapy.mirror")

_CANNOT_START, _FAILED = 1, 3


def parser() -> ArgumentParser:
    """Return the parser of the command line."""
    made = ArgumentParser(
        "connect-mirror-maker", description="Copies topics and groups between clusters (MirrorMaker 2)."
    )
    made.add_argument("config", metavar="mm2.properties", help="File with the clusters and flows.")
    made.add_argument(
        "--clusters", nargs="+", metavar="CLUSTER", default=[], help="Target clusters of this process. Default: all."
    )
    made.add_argument("--version", action="version", version=VERSION_LINE)
    return made


def main(argv: Sequence[str] | None = None) -> int:
    options = parser().parse_args(argv)
    try:
        maker = _made(options.config, options.clusters)
    except OSError as error:
        return _refused(f"{error.filename}: {error.strerror}")
    except ValueError as error:
        return _refused(str(error))

    def stop_on(number: int, _: Any) -> None:
        maker.request_stop()

    for number in STOP_SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, stop_on)
    return run(maker)


def run(maker: MirrorMaker) -> int:
    """Run it to its end; return the exit status."""
    from kafkapy.protocol.errors import KafkaError

    try:
        maker.start()
        failure = maker.wait()
    except (KafkaError, ValueError) as error:
        failure = error
    maker.stop()
    if failure is None:
        return 0
    print(f"MirrorMaker has failed: {failure}", file=sys.stderr)
    return _FAILED


def _made(path: str, clusters: Sequence[str]) -> MirrorMaker:
    properties = load_file(path)
    from kafkapy.common.logging_setup import setup_logging
    from kafkapy.mirror.config.maker_config import MirrorMakerConfig
    from kafkapy.mirror.flow_worker import UNUSED_URL, FlowWorker, make_flow_worker
    from kafkapy.mirror.mirror_maker import MirrorMaker
    from kafkapy.mirror.mirror_servers import MirrorServers

    config = MirrorMakerConfig(properties)
    setup_logging()
    for name in config.without_effect():
        log.warning(
            "%s has no effect: write ALIAS.%s, with the alias of each target cluster that it is for", name, name
        )
    servers = MirrorServers.of(config)

    def make_flow(pair: SourceAndTarget, on_failure: Callable[[], None]) -> FlowWorker:
        url = None if servers is None else servers.url
        flow = make_flow_worker(config, pair, url or UNUSED_URL, on_failure)
        if servers is not None:
            servers.add(pair, flow.herder)
        return flow

    return MirrorMaker(config, make_flow, clusters, servers)


def _refused(sentence: str) -> int:
    print(" ".join(sentence.split()), file=sys.stderr)
    return _CANNOT_START


if __name__ == "__main__":
    sys.exit(main())
