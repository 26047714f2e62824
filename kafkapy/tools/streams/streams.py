"""kafkapy-streams: runs an application of Streams in several processes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from kafkapy.common.properties import load_file
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.common.subcommands import Parser, run_subcommand


def parser() -> Parser:
    whole = Parser(
        prog="kafkapy-streams.sh",
        description="Runs an application of kafkapy.streams: each process is an instance of it, and one that dies is started "
        "again.",
    )
    words = whole.add_subparsers(dest="action", required=True, parser_class=Parser)
    run = words.add_parser(
        "run",
        help="run until Ctrl-C or SIGTERM",
        description="Runs until Ctrl-C or SIGTERM; a second one kills the processes. Exit status: 0 after a clean stop, 1 if a "
        "process could not be kept running or had to be killed.",
    )
    run.add_argument(
        "topology",
        metavar="module:name",
        help="a Topology, a StreamsBuilder, or a function that returns one of them (with the configs as its argument, if it "
        "takes one)",
    )
    run.add_argument("--processes", type=_positive, default=1, help="how many (default: 1)")
    run.add_argument("--config", metavar="FILE", help="a properties file with the configs of StreamsConfig")
    run.add_argument(
        "--property", action="append", default=[], metavar="NAME=VALUE", help="one config; goes before the file"
    )
    run.add_argument(
        "--listen",
        metavar="HOST:PORT",
        help="serve /ready, /live and /metrics (for Prometheus) there; port 0: any that is free",
    )
    run.add_argument(
        "--max-restarts",
        type=_not_negative,
        default=10,
        help="of a process, in a row without a minute's run (default: 10)",
    )
    run.add_argument(
        "--stop-timeout",
        type=_positive,
        default=60,
        help="seconds until processes that do not stop are killed (default: 60)",
    )
    return whole


def main(argv: Sequence[str] | None = None) -> int:
    return run_subcommand(parser(), {"run": run}, argv)


def run(given: argparse.Namespace) -> int:
    """Run the processes; returns the exit status."""
    from kafkapy.common.logging_setup import setup_logging
    from kafkapy.tools.streams.page import serve
    from kafkapy.tools.streams.process_configs import process_configs
    from kafkapy.tools.streams.supervisor import Supervisor

    configs = _configs(given.config, given.property)
    orders = [
        {"topology": given.topology, "number": number, "configs": process_configs(configs, number)}
        for number in range(1, given.processes + 1)
    ]
    setup_logging()
    supervisor = Supervisor(orders, given.max_restarts, given.stop_timeout)
    with serve(given.listen, supervisor) as address:
        if address is not None:
            print(f"Readiness and metrics at {address}", flush=True)
        return supervisor.run()


def _configs(file: str | None, properties: Sequence[str]) -> dict[str, str]:
    try:
        configs = {} if file is None else load_file(file)
    except ValueError as error:
        raise ToolError(str(error)) from None
    for entry in properties:
        name, equals, value = entry.partition("=")
        if not equals or not name:
            raise ToolError(f"--property {name}: it must read NAME=VALUE")
        configs[name.strip()] = value.strip()
    for required in ("application.id", "bootstrap.servers"):
        if not configs.get(required):
            raise ToolError(f'"{required}" is missing: set it in the file of --config, or by --property')
    return configs


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError("must be 1 or more")
    return value


def _not_negative(text: str) -> int:
    value = int(text)
    if value < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return value
