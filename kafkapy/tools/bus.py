"""kafkapy-bus: compares topics declared in files with the cluster, and makes the changes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kafkapy.bus.topics import declaration
from kafkapy.bus.topics.plan import Danger, Plan, make_plan
from kafkapy.tools.common.admin_access import admin_properties
from kafkapy.tools.common.command_line import ToolError
from kafkapy.tools.common.subcommands import Parser, run_subcommand

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient


def parser() -> Parser:
    whole = Parser(
        prog="kafkapy-bus.sh",
        description="Topics declared in a folder, a TOML file each: what must change (plan, diff), changing it (apply), a "
        "catalogue (docs).",
    )
    words = whole.add_subparsers(dest="action", required=True, parser_class=Parser)
    plan = words.add_parser("plan", help="what apply would do; nothing is changed")
    diff = words.add_parser("diff", help="the same; status 2 if the cluster is not as declared")
    apply = words.add_parser("apply", help="make the cluster as declared")
    docs = words.add_parser("docs", help="a catalogue of topics and events as web pages")
    for each in (plan, diff, apply, docs):
        each.add_argument("dir", type=Path, help="the folder")
    for each in (plan, diff, apply):
        each.add_argument("--bootstrap-server", required=True)
        each.add_argument("--command-config", help="a properties file for the admin client (TLS, SASL)")
    apply.add_argument("--allow-data-loss", action="store_true", help="delete topics, keep events for less time")
    apply.add_argument("--allow-moved-keys", action="store_true", help="add partitions to topics with a router")
    docs.add_argument("--schemas", type=Path, help="the schema repository")
    docs.add_argument("--out", type=Path, required=True, help="where to write")
    return whole


def main(argv: Sequence[str] | None = None) -> int:
    return run_subcommand(parser(), ACTIONS, argv)


def plan(given: argparse.Namespace) -> int:
    """Print the plan; status 1 if something cannot be done."""
    found, _ = _planned(given)
    _show(found)
    return 1 if found.problems else 0


def diff(given: argparse.Namespace) -> int:
    found, _ = _planned(given)
    _show(found)
    return 1 if found.problems else 2 if found.actions else 0


def apply(given: argparse.Namespace) -> int:
    from kafkapy.bus.topics.cluster_state import apply as apply_actions

    found, declared = _planned(given)
    _show(found)
    if found.problems:
        raise ToolError("Nothing was changed: what is marked with ! cannot be done")
    allowed = frozenset(
        danger
        for danger, given_flag in (
            (Danger.LOSES_DATA, given.allow_data_loss),
            (Danger.MOVES_KEYS, given.allow_moved_keys),
        )
        if given_flag
    )
    refused = found.refused(allowed)
    if refused:
        flags = sorted({action.danger.value for action in refused})
        raise ToolError(
            f"Nothing was changed: {len(refused)} of these changes must be allowed by {' and '.join(flags)}"
        )
    with _admin(given) as admin:
        apply_actions(admin, found.actions, declared, lambda action: print(f"done: {action}"))
    return 0


def docs(given: argparse.Namespace) -> int:
    from kafkapy.bus.catalogue import pages, write_pages
    from kafkapy.bus.schemas import repository

    events = {} if given.schemas is None else repository.load(given.schemas)
    found = pages(events, declaration.load(given.dir))
    write_pages(given.out, found)
    print(f"{given.out / 'index.html'} and {len(found) - 1} other pages")
    return 0


def _planned(given: argparse.Namespace) -> tuple[Plan, dict[str, declaration.TopicDeclaration]]:
    from kafkapy.bus.topics.cluster_state import read_topics

    declared = declaration.load(given.dir)
    declaration.routing_of(declared)
    with _admin(given) as admin:
        return make_plan(declared, read_topics(admin)), declared


def _admin(given: argparse.Namespace) -> AdminClient:
    from kafkapy.admin.client import AdminClient

    return AdminClient.from_properties(admin_properties(given.command_config, given.bootstrap_server))


def _show(found: Plan) -> None:
    for note in found.notes:
        print(f"  {note}")
    for problem in found.problems:
        print(f"! {problem}")
    for action in found.actions:
        print(action)
    if not found.actions and not found.problems:
        print("The cluster is as declared.")


ACTIONS = {"plan": plan, "diff": diff, "apply": apply, "docs": docs}

if __name__ == "__main__":
    raise SystemExit(main())
