"""kafkapy-compile: compiles the hot modules to machine code (mypyc), for the Python environment in which it runs.

Needs a C compiler, Python's headers and the extra `compile` (mypy, setuptools). See `kafkapy.compiled`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path

from kafkapy.clients.software import VERSION_LINE
from kafkapy.compiled import BUILDS, CODECS, HOT_MODULES, PACKAGE, build_directory, lies_beside, source
from kafkapy.protocol.codec_modules import module_text
from kafkapy.tools.common.progress import wait_with_progress

_FLAGS = ["-fvisibility=hidden", "-fno-semantic-interposition", "-fno-plt"]
"""Compiled functions are neither called nor replaced by other extension modules, so the compiler may inline them."""

KEPT_BUILDS = 3
"""Builds of other sources are kept, since running brokers may import from them."""

DURATION = "two minutes on an idle machine, up to ten on a busy one"

_PROCESSES = min(4, os.cpu_count() or 1)
"""C compilers at a time; each takes up to 400 MB of memory."""

_SETUP = """
from concurrent.futures import ThreadPoolExecutor

from mypyc.build import mypycify
from setuptools import setup
from setuptools.command.build_ext import build_ext


class BuildInParallel(build_ext):
    # setuptools compiles the C files of an extension one after the other
    def build_extensions(self):
        compile = self.compiler.compile
        def compile_all(sources, **options):
            with ThreadPoolExecutor({processes}) as pool:
                objects = pool.map(lambda source: compile([source], **options), sources)
                return [one for found in objects for one in found]
        self.compiler.compile = compile_all
        super().build_extensions()


options = ["--config-file=", "--ignore-missing-imports", "--follow-imports=silent"]
extensions = mypycify([*options, *{paths!r}], opt_level="3", debug_level="0", multi_file=True)
for extension in extensions:
    extension.extra_compile_args += {flags!r}
setup(name="kafkapy-compiled", packages=[], ext_modules=extensions, cmdclass=dict(build_ext=BuildInParallel))
"""
"""One C file for each module: the C compiler needs half the time that one file of all modules would take."""


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="kafkapy-compile",
        description="Compile the hot paths of the broker to machine code. Does nothing if that has been done.",
    )
    parser.add_argument("--version", action="version", version=VERSION_LINE)
    parser.add_argument("--check", action="store_true", help="only say whether there is a build of these sources")
    options = parser.parse_args(arguments)
    if lies_beside():
        print("The hot paths are compiled: they came so")
        return 0
    directory = build_directory()
    if directory.is_dir():
        print(f"The hot paths are compiled, in {directory}")
        return 0
    if options.check:
        print("The hot paths are not compiled; they run as plain Python", file=sys.stderr)
        return 1
    missing = what_is_missing()
    if missing:
        print(f"Can't compile the hot paths: {missing}. They run as plain Python, only slower", file=sys.stderr)
        return 1
    return build(directory)


def what_is_missing() -> str:
    """The first requirement of a build that is missing, and where to get it; empty if there is none."""
    if missing := missing_compiler():
        return missing
    if find_spec("mypyc") is None or find_spec("setuptools") is None:
        return "mypy or setuptools is missing. They come with: pip install 'kafkapy[compile]'"
    return ""


def missing_compiler() -> str:
    """The first requirement that only the system can install, as `what_is_missing`. Uses the standard library only,
    since bin/_setup.py calls it before anything is installed."""
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler ({compiler}). On Debian and Ubuntu: apt install gcc python{version}-dev"
    headers = sysconfig.get_path("include")
    if not Path(headers, "Python.h").exists():
        return f"there is no Python.h in {headers}. On Debian and Ubuntu: apt install python{version}-dev"
    return ""


def build(directory: Path) -> int:
    """Compile a copy of the sources, and replace the installed build atomically."""
    print(f"Compiling the hot paths: {DURATION}", file=sys.stderr, flush=True)
    try:
        BUILDS.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=BUILDS) as temporary:
            failure = compile_in(Path(temporary))
            if failure:
                print(f"Compiling the hot paths failed; they run as plain Python:\n{failure}", file=sys.stderr)
                return 1
            keep(Path(temporary, "out"), directory)
    except OSError as error:
        print(f"Can't keep the compiled hot paths in {BUILDS}: {error}", file=sys.stderr)
        return 1
    print(f"Compiled {len(HOT_MODULES)} modules to {directory}")
    return 0


def compile_in(workplace: Path) -> str:
    """Compile a copy of the sources to `workplace`/out. Returns the compilers' messages if they fail, else an empty
    text."""
    shutil.copytree(PACKAGE, workplace / "kafkapy", ignore=shutil.ignore_patterns("__pycache__"))
    for messages, codecs in CODECS.items():
        (workplace / path_of(codecs)).write_text(module_text(messages))
    modules = [str(path_of(module)) for module in (*HOT_MODULES, *CODECS.values())]
    (workplace / "setup.py").write_text(_SETUP.format(paths=modules, flags=_FLAGS, processes=_PROCESSES))
    command = [sys.executable, "setup.py", "--quiet", "build_ext", "--build-lib", "out"]
    # pip puts the build requirements there, other programs the sources of kafkapy
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    others = os.pathsep.join(path for path in paths if path and not Path(path, "kafkapy").is_dir())
    environment = {**os.environ, "PYTHONPATH": others}
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            command, cwd=workplace, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        status = wait_with_progress(process, lambda: _phase(workplace))
        output.seek(0)
        return f"{output.read().decode(errors='replace')}\nexit status {status}" if status else ""


def _phase(workplace: Path) -> str:
    """Progress of mypyc, which translates all modules first and writes C at the end."""
    is_translated = any(workplace.joinpath("build").rglob("*.c"))
    return "the C compiler is at work" if is_translated else "mypyc checks types and translates to C"


def compile_into(library: Path) -> None:
    """Copy the extension modules beside the sources in `library`, from which a wheel is built. An existing build of
    `kafkapy-compile` is used. Exits the process if that is impossible."""
    directory = build_directory()
    if directory.is_dir():
        for extension in directory.iterdir():
            *packages, name = extension.name.removesuffix(EXTENSION_SUFFIXES[0]).split(".")
            shutil.copy(extension, library.joinpath(*packages, name + EXTENSION_SUFFIXES[0]))
        return
    print(f"Compiling the hot paths: {DURATION}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory() as temporary:
        if failure := compile_in(Path(temporary)):
            sys.exit(f"Compiling the hot paths failed:\n{failure}")
        shutil.copytree(Path(temporary, "out"), library, dirs_exist_ok=True)


def path_of(module: str) -> Path:
    """A path relative to the package's directory."""
    return source(module).relative_to(PACKAGE.parent)


def keep(out: Path, directory: Path) -> None:
    """Move the extension modules to `directory`, under their modules' names. Raises OSError."""
    named = out.with_name("named")
    named.mkdir()
    for extension in out.rglob(f"*{EXTENSION_SUFFIXES[0]}"):
        extension.rename(named / ".".join(extension.relative_to(out).parts))
    try:
        named.rename(directory)
    except OSError:
        if not directory.is_dir():  # otherwise a concurrent build was faster
            raise
    others = sorted(BUILDS.glob("[0-9a-f]*"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[1 + KEPT_BUILDS :]:
        shutil.rmtree(path, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
