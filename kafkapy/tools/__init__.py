"""The command-line tools, one module a program; a family of programs with what they share is a package.

`python -m kafkapy.tools.X` starts the program X, wherever its module lies: the packages in `_FAMILIES` hold modules that are
programs, and their directories belong to this package's path. Imports use the whole name
(`kafkapy.tools.console.console_producer`).
"""

from pathlib import Path

_FAMILIES = ("connect", "console", "partitions", "perf", "servers", "verifiable", "zookeeper")

__path__.extend(str(Path(__file__).parent / family) for family in _FAMILIES)
