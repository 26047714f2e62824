"""kafkapy-schemas: versions of event schemas, from a directory to a registry and to typed classes."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from kafkapy.bus.schema_version import ChangeKind, SchemaVersion
from kafkapy.bus.schemas import repository
from kafkapy.bus.schemas.changes import SchemaChange, classify, fields_changed, next_version, wrong_claims
from kafkapy.bus.schemas.repository import EventSchemas
from kafkapy.tools.common.command_line import CommandLineError, ToolError
from kafkapy.tools.common.subcommands import Parser, run_subcommand


def parser() -> Parser:
    whole = Parser(
        prog="kafkapy-schemas.sh",
        description="Schemas with versions MODEL.REVISION.ADDITION in a folder: DIR/shop.BookingCreated/1.0.0.avsc (.proto, "
        ".json, .thrift). What is being worked at is called next.avsc.",
    )
    words = whole.add_subparsers(dest="action", required=True, parser_class=Parser)
    check = words.add_parser("check", help="does every version claim what it changes? what would next become?")
    diff = words.add_parser("diff", help="what is different between two versions, and what that means")
    bump = words.add_parser("bump", help="make the next version of next")
    publish = words.add_parser("publish", help="to a schema registry")
    build = words.add_parser("build", help="a wheel with typed classes, and a jar where a JDK is")
    docs = words.add_parser("docs", help="web pages")
    for each in (check, diff, bump, publish, build, docs):
        each.add_argument("dir", type=Path, help="the folder")
    diff.add_argument("event")
    diff.add_argument("old", nargs="?", help="a version (default: the latest)")
    diff.add_argument("new", nargs="?", help="a version (default: next)")
    bump.add_argument("event", nargs="*", help="default: all that have a next")
    bump.add_argument("--version", help="a version that claims more than need be")
    publish.add_argument("event", nargs="*", help="default: all")
    publish.add_argument("--registry", required=True, help="URL, or several with commas between")
    for each in (build, docs):
        each.add_argument(
            "--topics", type=Path, required=each is build, help="the topic repository, which says where events go"
        )
        each.add_argument("--out", type=Path, required=True, help="where to write")
    build.add_argument("--package", required=True, help="name of the Python package")
    build.add_argument(
        "--package-version", help="of wheel and jar (default: how many MODELs, REVISIONs, ADDITIONs there are)"
    )
    build.add_argument("--no-jar", action="store_true", help="even where a JDK is")
    return whole


def main(argv: Sequence[str] | None = None) -> int:
    return run_subcommand(parser(), ACTIONS, argv)


def check(given: argparse.Namespace) -> int:
    """Print the changes; status 1 if a version number is too small for its change."""
    status = 0
    for event in repository.load(given.dir).values():
        for sentence in wrong_claims(event):
            print(sentence)
            status = 1
        if event.next is not None:
            change = classify(event.kind, event.versions, event.next.text)
            if change.kind is ChangeKind.NONE:
                print(f"{event.name}: {event.next.path.name} is what {change.version} is already")
            else:
                print(f"{event.name}: {event.next.path.name} is {_article(change)}, and becomes {change.version}")
        elif not status:
            print(f"{event.name}: {', '.join(str(file.version) for file in event.versions)}")
    return status


def diff(given: argparse.Namespace) -> None:
    event = _event(repository.load(given.dir), given.event)
    old = event.latest if given.old is None else event.version(_version(given.old))
    new = event.next if given.new is None else event.version(_version(given.new))
    if old is None or new is None:
        raise ToolError(f"{event.name} has no {'version yet' if old is None else 'next'}: there is nothing to compare")
    names = str(old.version), str(new.version or "next")
    print(f"{event.name} {names[0]} -> {names[1]}")
    for line in fields_changed(event.kind, old.text, new.text):
        print(f"  {line}")
    earlier = [
        file
        for file in event.versions
        if file.version is not None and old.version is not None and file.version <= old.version
    ]
    change = classify(event.kind, earlier, new.text)
    if change.kind is ChangeKind.NONE:
        print("The same schema.")
        return
    print(f"This is {_article(change)}: the version after {names[0]} is {change.version}.")
    for reason in change.reasons:
        print(f"  {reason}")


def bump(given: argparse.Namespace) -> None:
    events = repository.load(given.dir)
    chosen = [_event(events, name) for name in given.event] or [
        each for each in events.values() if each.next is not None
    ]
    wanted = None if given.version is None else _version(given.version)
    if not chosen:
        raise ToolError(f"No event in {given.dir} has a next")
    made = [(event, next_version(event, wanted)) for event in chosen]
    for event, change in made:
        assert event.next is not None
        path = event.path_of(change.version)
        event.next.path.rename(path)
        print(f"{event.name} {change.version}: {_article(change)} ({'; '.join(change.reasons)})")


def publish(given: argparse.Namespace) -> None:
    from kafkapy.bus.schemas.publishing import publish as publish_event
    from kafkapy.schemas.registry_client import SchemaRegistryClient

    events = repository.load(given.dir)
    chosen = [_event(events, name) for name in given.event] or list(events.values())
    with SchemaRegistryClient(given.registry) as registry:
        for event in chosen:
            for done in publish_event(event, registry):
                state = "published" if done.new else "was there"
                print(f"{done.name} {done.version}: {state}, subject {done.subject}, id {done.schema_id}")


def build(given: argparse.Namespace) -> None:
    from kafkapy.bus.schemas import jars
    from kafkapy.bus.schemas.python_classes import package_files
    from kafkapy.bus.schemas.wheels import write_wheel
    from kafkapy.bus.topics import declaration

    events = [event for event in repository.load(given.dir).values() if event.versions]
    routing = declaration.routing_of(declaration.load(given.topics))
    files = package_files(events, routing, given.package)
    kinds = {event.kind.lower() for event in events}
    version = given.package_version or repository.package_version(events)
    print(write_wheel(given.out, given.package, version, files, "kafkapy[bus]" if kinds else "kafkapy"))
    if given.no_jar:
        return
    if jars.has_jdk():
        print(jars.write_jar(given.out, given.package, version, events))
    else:
        print("There is no JDK here (javac and jar), so there is no jar.")


def docs(given: argparse.Namespace) -> None:
    from kafkapy.bus.catalogue import pages, write_pages
    from kafkapy.bus.topics import declaration

    topics = {} if given.topics is None else declaration.load(given.topics)
    found = pages(repository.load(given.dir), topics)
    write_pages(given.out, found)
    print(f"{given.out / 'index.html'} and {len(found) - 1} other pages")


def _event(events: dict[str, EventSchemas], name: str) -> EventSchemas:
    found = events.get(name)
    if found is None:
        raise ToolError(f"There is no event {name}; there are {', '.join(events)}")
    return found


def _version(text: str) -> SchemaVersion:
    try:
        return SchemaVersion.parse(text)
    except ValueError as error:
        raise CommandLineError(str(error)) from None


def _article(change: SchemaChange) -> str:
    return f"an {change.kind.name}" if change.kind is ChangeKind.ADDITION else f"a {change.kind.name}"


ACTIONS = {"check": check, "diff": diff, "bump": bump, "publish": publish, "build": build, "docs": docs}

if __name__ == "__main__":
    raise SystemExit(main())
