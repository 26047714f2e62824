"""The tasks of a contributor: `nox -s test`, `fast`, `lint`, `docs`, `bench`. Each calls the script that CI calls.

`bin/setup.sh dev` installs nox as `.venv/bin/nox`. The scripts set up .venv, so nox makes no environments.
"""

import nox

nox.options.default_venv_backend = "none"
nox.options.sessions = ["fast"]


@nox.session
def test(session: nox.Session) -> None:
    """All checks and tests, or only pytest with these arguments: `nox -s test -- tests/log`."""
    session.run("bin/run-tests.sh", *session.posargs, external=True)


@nox.session
def fast(session: nox.Session) -> None:
    """The checks, and the tests that start no server."""
    session.run("bin/run-tests.sh", "--fast", external=True)


@nox.session
def lint(session: nox.Session) -> None:
    """The checks without tests: ruff, mypy, layers of imports."""
    session.run("bin/run-tests.sh", "--lint", external=True)


@nox.session
def docs(session: nox.Session) -> None:
    """The site, in site/; `nox -s docs -- --serve` shows it."""
    session.run("bin/build-docs.sh", *session.posargs, external=True)


@nox.session
def bench(session: nox.Session) -> None:
    """CPU time of the hot paths, or another module of benchmarks/: `nox -s bench -- run --help`."""
    name, *arguments = session.posargs or ["hot_paths"]
    session.run("bin/setup.sh", "test", external=True)
    session.run(".venv/bin/python", "-m", f"benchmarks.{name}", *arguments, external=True)
