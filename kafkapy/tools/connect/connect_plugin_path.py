"""connect-plugin-path: lists the plugins of folders and modules (after Kafka's `ConnectPluginPath`)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from importlib.metadata import EntryPoint, distributions
from pathlib import Path
from typing import Final, NamedTuple

from kafkapy.tools.common.argument_parser import ArgumentParser, run
from kafkapy.tools.common.command_line import CommandLineError, ToolError

_HEAD: Final = (
    *("pluginName", "firstAlias", "secondAlias", "pluginVersion"),
    *("pluginType", "isLoadable", "hasManifest", "pluginLocation"),
)
_NONE: Final = "N/A"


class PluginRow(NamedTuple):
    """A plugin of a location. `aliases`, `version`, `kind`: N/A if it cannot be loaded; `has_manifest`: an entry point
    names it."""

    name: str
    aliases: tuple[str, str]
    version: str
    kind: str
    is_loadable: bool
    has_manifest: bool
    location: str

    def __str__(self) -> str:
        flags = (str(self.is_loadable).lower(), str(self.has_manifest).lower())
        return "\t".join((self.name, *self.aliases, self.version, self.kind, *flags, self.location))


def parser() -> ArgumentParser:
    """Return the parser of the command line."""
    made = ArgumentParser("connect-plugin-path", "Manage plugins on the Connect plugin path")
    words = made.add_subparsers(dest="action", required=True, parser_class=ArgumentParser)
    for word, text in (
        ("list", "List the plugins of the given locations"),
        ("sync-manifests", "Not needed here: the entry points of a package are its manifest"),
    ):
        each = words.add_parser(word, description=text, help=text)
        group = each.add_argument_group("plugin providers")
        group.add_argument("--plugin-location", action="append", default=[], help="A folder of packages, or a module")
        group.add_argument("--plugin-path", action="append", default=[], help="Several, with commas between")
        group.add_argument("--worker-config", action="append", default=[], help="A worker's file, for its plugin.path")
        if word == "sync-manifests":
            each.add_argument("--dry-run", action="store_true", help="Without effect")
            each.add_argument("--keep-not-found", action="store_true", help="Without effect")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    return run(parser(), execute, argv, needs_arguments=True)


def execute(given: argparse.Namespace) -> int:
    locations = list(_locations(given))
    if not locations:
        raise CommandLineError(
            "connect-plugin-path: error: Must specify at least one --plugin-location, --plugin-path, or --worker-config"
        )
    if given.action == "sync-manifests":
        raise ToolError(
            "sync-manifests writes manifests into jars; a Python package names its plugins by entry points of the group "
            "kafkapy.connect, which its author adds to pyproject.toml"
        )
    rows = [row for location in locations for row in plugins_at(location)]
    print("\t".join(_HEAD))
    for row in rows:
        print(row)
    loadable = sum(row.is_loadable for row in rows)
    compatible = sum(row.is_loadable and row.has_manifest for row in rows)
    print(f"\nTotal plugins:      \t{len(rows)}")
    print(f"Loadable plugins:   \t{loadable}")
    print(f"Compatible plugins: \t{compatible}")
    return 0


def _locations(given: argparse.Namespace) -> Iterator[str]:
    from kafkapy.common.properties import load_file

    yield from given.plugin_location
    paths = list(given.plugin_path)
    for file in given.worker_config:
        try:
            paths.append(load_file(file).get("plugin.path", ""))
        except OSError as error:
            raise ToolError(f"{file}: {error.strerror}") from None
    for path in paths:
        yield from (part.strip() for part in path.split(",") if part.strip())


def plugins_at(location: str) -> list[PluginRow]:
    """Return the plugins of a location, sorted by name.

    Args:
        location: A folder, whose packages name them by entry points, or a module, whose classes are they.
    """
    from kafkapy.connect.plugins import ENTRY_POINTS, add_module

    if not Path(location).is_dir():
        classes: dict[str, type] = {}
        add_module(location, classes)
        return sorted(row for name, found in classes.items() for row in _rows(name, found, location, False))
    if location not in sys.path:
        sys.path.append(location)
    points = [
        point for each in distributions(path=[location]) for point in each.entry_points.select(group=ENTRY_POINTS)
    ]
    return sorted(row for point in points for row in _rows_of(point, location))


def _rows_of(point: EntryPoint, location: str) -> list[PluginRow]:
    from kafkapy.connect.plugins import class_name_of

    try:
        found = point.load()
        return _rows(class_name_of(found), found, location, True)
    except Exception as error:  # importing a plugin's module may raise anything
        print(f"{point.value} cannot be loaded: {error}", file=sys.stderr)
        return [PluginRow(point.name, (_NONE, _NONE), _NONE, _NONE, False, True, location)]


def _rows(name: str, found: type, location: str, has_manifest: bool) -> list[PluginRow]:
    from kafkapy.connect.plugins import aliases_of, plugins_of

    plugins = plugins_of(name, found)
    return [PluginRow(name, aliases_of(one), one.version, one.type, True, has_manifest, location) for one in plugins]


if __name__ == "__main__":
    sys.exit(main())
