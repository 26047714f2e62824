"""Print docs/tools.md, made from the commands in setup.cfg and what each prints for --help.

`python -m tests.pages.generators.tools > docs/tools.md`
"""

from __future__ import annotations

import configparser
import contextlib
import importlib
import io
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[3]

_INTRODUCTION = """\
# Tools

Generated from the commands in `setup.cfg` and their `--help` by `python -m tests.pages.generators.tools`; change
those, not this page.

`pip install kafkapy` puts these commands on the PATH. In a clone they are the scripts in `bin/`: `kafka-topics` is
`bin/kafka-topics.sh`. Options, sentences and output of Apache's tools are the same; each difference is listed in
[compatibility](compatibility.md#command-line-tools). `--command-config FILE` takes the configs of Java's clients.
"""

FAMILIES = {
    "Servers": (
        ("kafka-server-start", "Starts a broker."),
        ("kafka-server-stop", "Stops brokers on this machine."),
        ("zookeeper-server-start", "Starts a ZooKeeper: kafkapy's own, or Apache's."),
        ("zookeeper-server-stop", "Stops ZooKeepers on this machine."),
        ("schema-registry-start", "Starts a schema registry."),
        ("schema-registry-stop", "Stops schema registries on this machine."),
        ("connect-distributed", "Starts a Connect worker that shares its connectors with others."),
        ("connect-standalone", "Starts a Connect worker that is alone, with its connectors."),
        ("connect-mirror-maker", "Copies topics and groups between clusters (MirrorMaker 2)."),
        ("connect-plugin-path", "Lists the plugins in folders and modules of `plugin.path`."),
        ("kafka-rest-start", "Starts the HTTP proxy."),
        ("kafka-rest-stop", "Stops HTTP proxies on this machine."),
        ("kafka-cluster-local", "Starts and stops a whole cluster on this machine."),
        (
            "kafkapy-dev",
            "Runs a broker with its ZooKeeper until Ctrl-C, for development. In a clone: `bin/kafka-dev.sh`.",
        ),
    ),
    "Topics and records": (
        ("kafka-topics", "Creates, lists, describes, alters and deletes topics."),
        ("kafka-console-producer", "Sends lines of the standard input as records."),
        ("kafka-console-consumer", "Prints records."),
        ("kafka-get-offsets", "Prints offsets of partitions, by time too."),
        ("kafka-delete-records", "Deletes records before an offset."),
        ("kafka-dump-log", "Prints segments, indexes and snapshots of a log directory."),
    ),
    "Groups and transactions": (
        ("kafka-consumer-groups", "Lists, describes, deletes and resets consumer groups."),
        ("kafka-transactions", "Lists, describes and ends transactions."),
    ),
    "Clusters": (
        ("kafka-configs", "Describes and alters configs of topics, brokers, users, clients and IP addresses."),
        ("kafka-acls", "Lists, adds and removes access rights."),
        ("kafka-delegation-tokens", "Makes, renews, expires and describes delegation tokens."),
        ("kafka-streams-application-reset", "Lets an application of Kafka Streams process its input anew."),
        ("kafka-reassign-partitions", "Moves partitions between brokers and log directories."),
        ("kafka-leader-election", "Elects leaders: the preferred one, or any replica."),
        ("kafka-replica-verification", "Compares the records of replicas."),
        ("kafka-log-dirs", "Describes log directories and the sizes of partitions."),
        ("kafka-broker-api-versions", "Prints the APIs and versions of each broker."),
        ("kafka-cluster", "Prints the cluster's id, or unregisters a broker."),
    ),
    "ZooKeeper": (
        ("zookeeper-shell", "Reads and changes znodes."),
        ("zookeeper-copy", "Copies the tree of one ZooKeeper to another."),
        ("zookeeper-security-migration", "Sets or removes access lists on Kafka's znodes."),
    ),
    "Measuring": (
        ("kafka-producer-perf-test", "Sends records and prints throughput and latency."),
        ("kafka-consumer-perf-test", "Reads records and prints throughput."),
        ("kafka-e2e-latency", "Measures the time from send to receipt."),
        ("kafka-verifiable-producer", "Sends counted records and prints each acknowledgement as JSON."),
        ("kafka-verifiable-consumer", "Reads in a group and prints each event as JSON."),
    ),
    "Above the log": (
        ("kafkapy-schemas", "Checks, compares, publishes and compiles schemas in a folder."),
        ("kafkapy-bus", "Plans and applies topics that are declared in a folder."),
        (
            "kafkapy-connect",
            "Plans and applies connectors that are declared in a folder; shows and changes their states.",
        ),
        ("kafkapy-streams", "Runs an application of Streams in several processes."),
        ("kafkapy-warehouse", "Makes tables of events on Spark."),
    ),
    "The installation": (
        ("kafkapy-compile", "Compiles the hot modules to machine code."),
        ("kafkapy-files", "Writes the samples of configs and the pages into a directory."),
    ),
}
"""Every command of setup.cfg once, with one sentence."""


class Command(NamedTuple):
    """A line of `console_scripts`."""

    module: str
    function: str


def commands() -> dict[str, Command]:
    """The installed commands by name."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    found = {}
    for line in filter(None, parser["options.entry_points"]["console_scripts"].split("\n")):
        name, _, target = line.partition("=")
        module, _, function = target.strip().partition(":")
        found[name.strip()] = Command(module, function)
    return found


def help_of(name: str, command: Command) -> str:
    """What the command prints for --help, 80 columns wide."""
    printed = io.StringIO()
    argv, columns = sys.argv, os.environ.get("COLUMNS")
    sys.argv, os.environ["COLUMNS"] = [name], "80"
    try:
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed), contextlib.suppress(SystemExit):
            getattr(importlib.import_module(command.module), command.function)(["--help"])
    finally:
        sys.argv = argv
        if columns is None:
            del os.environ["COLUMNS"]
        else:
            os.environ["COLUMNS"] = columns
    return "\n".join(line.rstrip() for line in printed.getvalue().strip().expandtabs(4).splitlines())


def reference() -> str:
    """The page, as Markdown."""
    return "\n".join([_INTRODUCTION, *_overview(), *_helps()])


def _overview() -> Iterable[str]:
    for family, members in FAMILIES.items():
        yield f"## {family}\n\n| tool | what it does |\n| --- | --- |"
        yield from (f"| [`{name}`](#{name}) | {sentence} |" for name, sentence in members)
        yield ""


def _helps() -> Iterable[str]:
    known = commands()
    yield "## Options of each tool\n"
    for members in FAMILIES.values():
        for name, _ in members:
            yield f"### {name}\n\n```text\n{help_of(name, known[name])}\n```\n"


if __name__ == "__main__":
    sys.stdout.write(reference())
