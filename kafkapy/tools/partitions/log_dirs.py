"""kafka-log-dirs: describes the log directories of brokers (after Kafka's `LogDirsCommand`)."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kafkapy.tools.common.command_line import (
    BOOTSTRAP_SERVER,
    COMMAND_CONFIG,
    CommandLineError,
    OptionParser,
    Options,
    ToolError,
    ToolOption,
    integer,
    run,
)

if TYPE_CHECKING:
    from kafkapy.admin.replicas import LogDirDescription

PARSER = OptionParser(
    "This tool helps to query log directory usage on the specified brokers.",
    BOOTSTRAP_SERVER,
    COMMAND_CONFIG,
    ToolOption("describe", "REQUIRED: describe the log directories."),
    ToolOption("topic-list", "Only these topics; all if left out.", "topic1,topic2", default=""),
    ToolOption("broker-list", "Only these brokers; all if left out.", "0,1,2", default=""),
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> None:
    from kafkapy.admin.results import values_of
    from kafkapy.tools.common.admin_access import admin_client

    options.require("bootstrap-server", "describe")
    topics = _words(options.value("topic-list"))
    try:
        wanted = {integer(word) for word in _words(options.value("broker-list"))}
    except ValueError as error:
        raise CommandLineError(f'For input string: "{error}"') from error
    with admin_client(options, options.value("bootstrap-server"), "log-dirs-tool") as admin:
        live = {node.id for node in admin.describe_cluster().nodes}
        if wanted - live:
            raise ToolError(
                f"ERROR: The given brokers do not exist from --broker-list: {_ids(wanted - live)}. "
                f"Current existent brokers: {_ids(live)}"
            )
        brokers = sorted(wanted or live)
        print("Querying brokers for log directories information")
        described = values_of(admin.describe_log_dirs(brokers))
    print(f"Received log directory information from brokers {_ids(brokers)}")
    print(format_as_json(described, topics))


def format_as_json(described: dict[int, dict[str, LogDirDescription]], topics: Collection[str]) -> str:
    """The description as one line of JSON; only these topics, if any are named."""
    brokers = [
        {"broker": broker, "logDirs": [_log_dir(path, entry, topics) for path, entry in log_dirs.items()]}
        for broker, log_dirs in described.items()
    ]
    return json.dumps({"brokers": brokers, "version": 1}, separators=(",", ":"))


def _log_dir(path: str, log_dir: LogDirDescription, topics: Collection[str]) -> dict[str, Any]:
    from kafkapy.tools.common.admin_access import exception_class

    partitions = [
        {"partition": str(partition), "size": info.size, "offsetLag": info.offset_lag, "isFuture": info.is_future}
        for partition, info in sorted(log_dir.replicas.items())
        if not topics or partition.topic in topics
    ]
    error = None if log_dir.error is None else exception_class(log_dir.error.error)
    return {"partitions": partitions, "error": error, "logDir": path}


def _words(text: str) -> list[str]:
    return [word for word in text.split(",") if word]


def _ids(brokers: Iterable[int]) -> str:
    return ",".join(map(str, sorted(brokers)))


if __name__ == "__main__":
    sys.exit(main())
