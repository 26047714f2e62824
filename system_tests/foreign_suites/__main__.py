"""`python -m system_tests.foreign_suites CHECKOUT [PYTEST ARGUMENT...]`: a library's own tests against kafkapy.

CHECKOUT is a clone of kafka-python, aiokafka or Karapace; nothing of it is part of this repository. Without further arguments the
files of `known.PUBLIC` run, which test what programs see; other files test the library's parts. A broker of kafkapy is started
for them. The summary tells, by file, how many pass, how many look inside the library, and how many differ on purpose
(`known.py`); the exit status is 1 if a test fails that nobody has looked at. Needs `pip install pytest-asyncio pytest-mock
docker`; for Karapace, whose tests get registries and proxies of kafkapy, `--python` is one that has its packages.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from xml.etree import ElementTree

from system_tests.foreign_suites import known
from system_tests.services import KafkaService, ZooKeeperService

ROOT = Path(__file__).resolve().parents[2]
CONFIG = {
    "num.partitions": "2",  # kafka-python's make their topics themselves
    "auto.create.topics.enable": "true",
    "transaction.state.log.num.partitions": "1",
    "group.min.session.timeout.ms": "1000",
}
ARGUMENTS = {
    "kafka": ["-o", "log_level=WARNING"],
    "aiokafka": ["--docker-image", "none:3.9.1", "--no-pull", "-o", "filterwarnings=default"],
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m system_tests.foreign_suites", description=__doc__)
    parser.add_argument("checkout", type=Path, metavar="CHECKOUT")
    parser.add_argument("--python", default=sys.executable, help="runs pytest (default: this one)")
    given, arguments = parser.parse_known_args()
    checkout: Path = given.checkout.resolve()
    library = next((name for name in ARGUMENTS if any(checkout.glob(f"{name}/__init__.py"))), None)
    if library is None and (checkout / "src" / "karapace").exists():
        library = "karapace"
    if library is None:
        parser.error(f"{checkout} is no clone of kafka-python, aiokafka or Karapace")
    with tempfile.TemporaryDirectory(prefix="foreign-suites-") as name:
        directory = Path(name)
        zookeeper = ZooKeeperService(directory / "zookeeper")
        broker = KafkaService(directory / "broker", zookeeper, CONFIG if library in ARGUMENTS else {})
        try:
            zookeeper.start()
            broker.start()
            run_tests = run if library in ARGUMENTS else partial(run_karapace, given.python)
            report = run_tests(library, checkout, broker.address, arguments, directory / "report.xml")
            return 1 if summarize(library, report) else 0
        finally:
            broker.close()
            zookeeper.close()


def run(library: str, checkout: Path, broker: str, arguments: Sequence[str], report: Path) -> Path:
    """Runs the tests in a process of their own; gives the report."""
    if library == "aiokafka":
        # Where it is, their fixture makes no certificates.
        (checkout / "tests" / "ssl_cert").mkdir(exist_ok=True)
    environment = {
        **os.environ,
        "FOREIGN_LIBRARY": library,
        "FOREIGN_CHECKOUT": str(checkout),
        "FOREIGN_BROKER": broker,
        "PYTHONPATH": os.pathsep.join([str(ROOT), str(checkout)]),
        "AIOKAFKA_NO_EXTENSIONS": "1",
        # kafka-python's fixtures take a broker that runs; they mistake the address of ZooKeeper for that of the broker.
        "KAFKA_URI": f"kafka://{broker}",
        "ZOOKEEPER_URI": f"kafka://{broker}",
        "KAFKA_VERSION": "3.9.1",
        "KAFKA_ROOT": str(checkout),
    }
    plugins = ["-p", "system_tests.foreign_suites.plugin", "-p", "no:twisted", "-p", "no:cacheprovider"]
    options = ["-q", "-o", "addopts=", "--timeout=30", "--tb=line", f"--junitxml={report}", *ARGUMENTS[library]]
    command = [sys.executable, "-m", "pytest", *plugins, *options, *(arguments or known.PUBLIC[library])]
    subprocess.run(command, cwd=checkout, env=environment, check=False)
    if not report.exists():
        raise SystemExit("pytest has not run: see above")
    return report


def run_karapace(
    python: str, library: str, checkout: Path, broker: str, arguments: Sequence[str], report: Path
) -> Path:
    """The same for Karapace: its tests are clients of servers, which the plugin starts."""
    environment = {
        **os.environ,
        "FOREIGN_BROKER": broker,
        "FOREIGN_PYTHON": sys.executable,
        "FOREIGN_ROOT": str(ROOT),
        "PYTHONPATH": os.pathsep.join([str(checkout), str(checkout / "src"), str(ROOT)]),
    }
    plugins = ["-p", "system_tests.foreign_suites.karapace_plugin", "-p", "no:cacheprovider"]
    options = ["-q", "-o", "addopts=--import-mode=importlib", "--timeout=60", "--tb=line", f"--junitxml={report}"]
    servers = ["--kafka-bootstrap-servers", broker]
    command = [python, "-m", "pytest", *plugins, *options, *servers, *(arguments or known.PUBLIC[library])]
    subprocess.run(command, cwd=checkout, env=environment, check=False)
    if not report.exists():
        raise SystemExit("pytest has not run: see above")
    return report


def summarize(library: str, report: Path) -> int:
    """Prints the table; gives the number of failures that nobody has looked at."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    unexplained = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        test = f"{case.get('classname', '').replace('.', '/')}::{case.get('name', '')}"
        outcome = "pass"
        found = next((case.find(kind) for kind in ("skipped", "failure", "error") if case.find(kind) is not None), None)
        if found is not None and found.tag == "skipped":
            outcome = "skipped"
        elif found is not None:
            outcome = known.kind_of(library, test, found.get("message", ""))
            if outcome == "unexplained":
                unexplained.append(test)
        counts["/".join(part for part in test.split("::")[0].split("/") if not part[:1].isupper())][outcome] += 1
    kinds = ("pass", "looks inside", "on purpose", "broker", "unexplained", "skipped")
    print(f"| tests | {' | '.join(kinds)} |", "| --- |" + " ---: |" * len(kinds), sep="\n")
    for file, count in sorted(counts.items()):
        print(f"| {file} | {' | '.join(str(count[kind]) for kind in kinds)} |")
    print(*(f"unexplained: {test}" for test in unexplained), sep="\n")
    return len(unexplained)


if __name__ == "__main__":
    sys.exit(main())
