"""schema-registry-stop and kafka-rest-stop: stop the servers of this user on this machine."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from kafkapy.tools.common.argument_parser import ArgumentParser
from kafkapy.tools.servers.running_servers import find_servers, run_stop

_MODULES = {"schema-registry": "schema_registry_start", "kafka-rest": "kafka_rest_start"}


def stop_schema_registry(argv: Sequence[str] | None = None) -> int:
    return _stop("schema-registry", argv)


def stop_kafka_rest(argv: Sequence[str] | None = None) -> int:
    return _stop("kafka-rest", argv)


def _stop(name: str, argv: Sequence[str] | None) -> int:
    parser = ArgumentParser(f"{name}-stop", f"Ask the {name} servers of this user on this machine to stop.")
    return run_stop(parser, name, lambda _: find_servers(arguments_of_server(name)), argv)


def arguments_of_server(name: str) -> Callable[[list[str]], list[str] | None]:
    """The server's arguments in a process's command line; None: the process is no such server."""
    module = ("-m", f"kafkapy.tools.{_MODULES[name]}")

    def arguments(words: list[str]) -> list[str] | None:
        for i in range(len(words) - 1):
            if tuple(words[i : i + 2]) == module:
                return words[i + 2 :]
        for i, word in enumerate(words[:3]):
            if Path(word).name == f"{name}-start":
                return words[i + 1 :]
        return None

    return arguments


if __name__ == "__main__":
    sys.exit(_stop(sys.argv[1], sys.argv[2:]) if sys.argv[1:2] and sys.argv[1] in _MODULES else 1)
