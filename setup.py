"""What setup.cfg can't say: a wheel has the hot modules as machine code, beside their sources (`kafkapy.compiled`), and the files
that `kafkapy-files` hands out; every installation has the stubs of the clients' faces (`kafkapy.clients.facade`).

`KAFKAPY_COMPILED=0` makes a pure wheel, which serves any platform; so does a machine without a C compiler, unless
`KAFKAPY_COMPILED=1` asks for machine code. An editable install compiles nothing: there an edit must show, so bin/setup.sh keeps
the compiled modules apart from the sources.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
sys.path.insert(0, str(ROOT))

from kafkapy.tools.face_stubs import write_stubs  # noqa: E402
from kafkapy.tools.files import FILES, IN_PACKAGE  # noqa: E402

PREFACE = """> This is the page of a clone. Once installed, scripts like `bin/kafka-topics.sh` are commands (`kafka-topics`),
> and `kafkapy-files DIR` writes the folders `config` and `docs` that are named here into a directory.

"""


def compiles() -> bool:
    """Does this run of setuptools make a wheel with machine code?"""
    from kafkapy.tools.compile import what_is_missing

    wish = os.environ.get("KAFKAPY_COMPILED")
    if "bdist_wheel" not in sys.argv or wish == "0":
        return False
    missing = what_is_missing()
    if missing and wish == "1":
        sys.exit(f"Can't compile the hot paths: {missing}")
    if missing:
        print(f"This will be a pure wheel: {missing}", file=sys.stderr)
    return not missing


def long_description() -> str:
    """README.md, in which links into the repository are only names: there they lead nowhere outside of it."""

    def name(link: re.Match[str]) -> str:
        text, path = link.groups()
        return f"`{path}`" if text == path else f"{text} (`{path}`)"

    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    return PREFACE + re.sub(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)", name, readme)


def project_urls() -> dict[str, str]:
    """Of Kafka's documentation, which describes names, defaults and behaviour; and of the repository that the clone came from."""
    urls = {
        "Documentation of Kafka 3.9": "https://kafka.apache.org/39/documentation.html",
        "Protocol": "https://kafka.apache.org/protocol.html",
    }
    repository = repository_url()
    if repository:
        urls["Source"] = repository
        urls["Issues"] = f"{repository}/issues"
        for name, path in {
            "Documentation": "docs/index.md",
            "Changelog": "CHANGELOG.md",
            "Security": "SECURITY.md",
        }.items():
            urls[name] = f"{repository}/blob/main/{path}"
    return urls


def repository_url() -> str:
    """The web address of git's `origin`; "" without one, or if it is no address of a host."""
    if not (ROOT / ".git").exists():
        return ""
    try:
        command = ["git", "config", "--get", "remote.origin.url"]
        origin = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""
    found = re.fullmatch(r"(?:https://|git@|ssh://git@)([\w.-]+\.[a-z]+)[:/]([\w./-]+?)(?:\.git)?/?", origin)
    return f"https://{found[1]}/{found[2]}" if found else ""


COMPILED = compiles()


class KafkapyDistribution(Distribution):
    def has_ext_modules(self) -> bool:
        """Makes it a wheel for this platform and this Python."""
        return COMPILED


class BuildModules(build_py):
    def run(self) -> None:
        super().run()
        write_stubs(ROOT if self.editable_mode else Path(self.build_lib))
        if not self.editable_mode:
            for name in FILES:
                shutil.copytree(ROOT / name, Path(self.build_lib) / IN_PACKAGE / name, dirs_exist_ok=True)
        if COMPILED:
            from kafkapy.tools.compile import compile_into

            compile_into(Path(self.build_lib))


setup(
    distclass=KafkapyDistribution,
    cmdclass={"build_py": BuildModules},
    long_description=long_description(),
    long_description_content_type="text/markdown",
    project_urls=project_urls(),
)
