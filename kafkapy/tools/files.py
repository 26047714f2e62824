"""kafkapy-files: writes the configurations, units, dashboard and documents of kafkapy into a directory."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kafkapy.tools.common.argument_parser import ArgumentParser
from kafkapy.tools.common.command_line import ToolError, guard

FILES: Final = ("config", "docs")
"""The directories in the repository."""

IN_PACKAGE: Final = "kafkapy/files"
"""The same directories in a wheel."""

DESCRIPTION = (
    "Write the files that come with kafkapy into DIR: config/ has samples of configurations, the systemd units, the Dockerfile, "
    "Grafana's dashboard and Prometheus' alerts; docs/ has the documentation. Without DIR, say where they lie."
)


def source() -> Path:
    """The directory that has them: in the package, or in the clone."""
    root = Path(__file__).resolve().parents[2]
    return root / IN_PACKAGE if (root / IN_PACKAGE).is_dir() else root


def main(argv: Sequence[str] | None = None) -> int:
    parser = ArgumentParser("kafkapy-files", DESCRIPTION)
    parser.add_argument("directory", nargs="?", metavar="DIR", type=Path, help="is made if it is missing")
    parser.add_argument("--force", action="store_true", help="replace files that are there already")

    def execute() -> None:
        given = parser.parse_args(sys.argv[1:] if argv is None else argv)
        if given.directory is None:
            print(source())
        else:
            write(given.directory, given.force)

    return guard(execute)


def write(directory: Path, force: bool = False) -> None:
    """Write the files. Raises ToolError, and writes nothing, if one exists already and `force` is not given."""
    files = [path for name in FILES for path in sorted((source() / name).rglob("*")) if path.is_file()]
    targets = [directory / path.relative_to(source()) for path in files]
    if not force and (there := [target for target in targets if target.exists()]):
        raise ToolError(f"{there[0]} is there already; --force replaces it, and the others that are")
    for path, target in zip(files, targets, strict=True):
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)
    print(f"{len(files)} files are in {directory}")


if __name__ == "__main__":
    sys.exit(main())
