"""Make or complete .venv, with the Python that setup.sh runs this in. Needs nothing but the standard library."""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from hashlib import sha256
from itertools import count
from pathlib import Path

BASE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(BASE))

from kafkapy.tools.common.progress import wait_with_progress  # noqa: E402
from kafkapy.tools.compile import missing_compiler  # noqa: E402
from kafkapy.tools.face_stubs import write_stubs  # noqa: E402

VENV = BASE / ".venv"
STAMP = VENV / ".kafkapy-setup"
"""Says what the environment was made for; written last, so an interrupted setup is done again."""


def main(extras: list[str]) -> int:
    lock_out_others()
    done, requirements = installed(), sha256((BASE / "setup.cfg").read_bytes()).hexdigest()
    known = set(done.get("extras", "").split())
    extras = [*extras, "broker"]
    if {"quickstart", "warehouse"} & {*extras} and shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        extras.append("zookeeper")  # which has a Java; Spark needs one
    # Machine code is made where it was asked for once: later edits of the sources shall not slow anybody down.
    is_compiling = "compile" in {*extras, *known}
    missing = missing_compiler() if is_compiling else ""
    if missing:
        extras = [extra for extra in extras if extra != "compile"]
    if done.get("setup.cfg") == requirements and set(extras) <= known:
        if os.access(BASE, os.W_OK):
            write_stubs()
        if is_compiling and not missing:
            compile_hot_paths()
        return 0
    if not os.access(BASE, os.W_OK):
        say(f"{BASE} can't be written to, and .venv belongs in there. Clone kafkapy to a directory of your own")
        return 1
    wanted = sorted({*extras, *known})
    if not make_environment() or not install(wanted):
        return 1
    write_stubs()
    STAMP.write_text(f"setup.cfg={requirements}\nextras={' '.join(wanted)}\n")
    if missing:
        say(f"the broker's hot paths stay plain Python, which is slower: {missing}, then bin/setup.sh compile")
    elif is_compiling:
        compile_hot_paths()
    say("done")
    return 0


def lock_out_others() -> None:
    """Until this process ends."""
    lock = os.open(BASE, os.O_RDONLY)
    for waited in count():
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if waited % 10 == 0:
                say(f"another setup is at work on {VENV}, waiting for it: {waited} s so far")
            time.sleep(1)


def installed() -> dict[str, str]:
    try:
        return dict(line.split("=", 1) for line in STAMP.read_text().splitlines())
    except OSError:
        return {}


def make_environment() -> bool:
    python = VENV / "bin" / "python"
    if python.exists() and subprocess.run([python, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return True
    say(f"making {VENV} with Python {sys.version.split()[0]}")
    shutil.rmtree(VENV, ignore_errors=True)
    making = subprocess.Popen([sys.executable, "-m", "venv", VENV], stdout=sys.stderr)
    if wait_with_progress(making, lambda: "python -m venv is at work") == 0:
        return True
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    say(f"{sys.executable} can't make virtual environments. On Debian and Ubuntu: apt install python{version}-venv")
    return False


def install(extras: list[str]) -> bool:
    target = f"{BASE}[{','.join(extras)}]"
    say(f"about to install {target} into {VENV}, with pip from the package index: {duration(extras)}")
    pip = [VENV / "bin" / "python", "-m", "pip", "install", "--disable-pip-version-check", "-e", target]
    if wait_with_progress(subprocess.Popen(pip, stdout=sys.stderr), lambda: "pip is at work") == 0:
        return True
    say(
        "pip could not install what kafkapy needs; what it says stands above. It needs the package index (PyPI): check the "
        "network, or name a proxy (HTTPS_PROXY) or an index of your own (PIP_INDEX_URL), and run this again"
    )
    return False


def duration(extras: list[str]) -> str:
    """How long an installation takes that finds nothing in pip's cache, by what it downloads."""
    if {*extras} & {"quickstart", "warehouse", "spark", "zookeeper", "test"}:
        return "two minutes on an idle machine, five or more on a busy one, most of them for PySpark's 450 MB"
    return "half a minute on an idle machine, two on a busy one"


def compile_hot_paths() -> None:
    """Turn the hot paths into machine code, unless that has been done, or KAFKAPY_COMPILED=0 wants plain Python. Without it
    kafkapy works as well, only slower."""
    if os.environ.get("KAFKAPY_COMPILED") == "0":
        return
    command = [VENV / "bin" / "python", "-m", "kafkapy.tools.compile"]
    subprocess.run(command, env={**os.environ, "PYTHONPATH": str(BASE)}, stdout=subprocess.DEVNULL)


def say(text: str) -> None:
    print(f"kafkapy setup: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
