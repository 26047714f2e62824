"""Apache Kafka's own integration tests against kafkapy's brokers.

Apache publishes its tests. They start brokers as objects of the class `kafka.server.KafkaServer`; another class of that name,
first on the classpath, starts kafkapy instead (`KafkaServer.scala`). ZooKeeper runs within the tests, as always.
"""

from __future__ import annotations

import hashlib
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path
from zipfile import ZipFile

from benchmarks.apache import CACHE, jars, java

HERE = Path(__file__).parent
HOME = HERE.parent.parent
_AFTER_ALL = "during @AfterAll"
"""What a failed test left over fails the whole class; the reports show that with each test, beside its own failure."""
_MAKES_CERTIFICATES = "org/apache/kafka/test/TestSslUtils$CertificateBuilder.class"
_SHA1 = b"\0\x0bSHA1withRSA"
"""A constant of a class, behind its length."""
_SERVICE = "META-INF/services/org.junit.jupiter.api.extension.Extension"


@dataclass(frozen=True)
class Outcome:
    """One run of one test method; `failure` is what it failed with, None if it passed."""

    test: str
    failure: str | None


def run(test_class: str, directory: Path, apache: bool = False, timeout: float = 1800) -> list[Outcome]:
    """Run a class in ZooKeeper mode, with kafkapy or (`apache`) with Apache's brokers; its outcomes in order.

    What the tests print is left in `directory`, what the brokers print in `directory/brokers`. Raises
    `subprocess.TimeoutExpired` after so many seconds.
    """
    brokers = directory / "brokers"
    brokers.mkdir(parents=True)
    tests = jars(HERE / "pom.xml")
    command = [java(), "-Xmx1200m", "-XX:+UseSerialGC", f"-Dlog4j.configuration=file:{HERE}/log4j.properties"]
    command += [f"-Dbroker.home={HOME}", f"-Dbroker.logs={brokers}", f"-Djava.io.tmpdir={directory}"]
    command += ["--add-opens", "java.security.jgss/sun.security.krb5=ALL-UNNAMED"]  # for the KDC of Apache's tests
    command += ["-cp", f"{_compiled(tests, apache)}:{tests}", "org.junit.platform.console.ConsoleLauncher", "execute"]
    command += ["-c", test_class, "--disable-banner", "--disable-ansi-colors", "--reports-dir", str(directory)]
    command += ["--config", "junit.jupiter.extensions.autodetection.enabled=true"]
    command += ["--config", "junit.jupiter.execution.timeout.default=180s"]
    with (directory / "output").open("wb") as output:
        subprocess.run(command, cwd=directory, stdout=output, stderr=output, timeout=timeout, check=False)
    return outcomes(directory / "TEST-junit-jupiter.xml")


def outcomes(report: Path) -> list[Outcome]:
    """What a report in JUnit's XML says of the tests that were not skipped."""
    found = []
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        if case.find("skipped") is None:
            name = case.get("name", "").partition("(")[0]
            failures = [f"{e.get('type')}: {e.get('message') or ''}" for e in case if e.tag in ("failure", "error")]
            failure = next((text for text in failures if _AFTER_ALL not in text), None)
            found.append(Outcome(name, failure))
    return found


def _sign_with_sha256(building: Path) -> None:
    """Put a copy of what makes the tests' certificates where it comes first: Java offers none signed with SHA-1 to OpenSSL.

    OpenSSL names no signatures with SHA-1 among those that it takes, and kafkapy keeps to that; Apache's tests have no others.
    """
    path = building / _MAKES_CERTIFICATES
    path.parent.mkdir(parents=True, exist_ok=True)
    archive = next(Path(jars(HERE / "pom.xml").removesuffix("/*")).glob("kafka-clients-*-test.jar"))
    with ZipFile(archive) as classes:
        code = classes.read(_MAKES_CERTIFICATES)
    path.write_bytes(code.replace(_SHA1, b"\0\rSHA256withRSA"))


def _compiled(tests: str, apache: bool) -> Path:
    """The classes that go before Apache's; without the broker where that is to be Apache's."""
    sources = sorted([*HERE.glob("*.java"), *([] if apache else HERE.glob("*.scala"))])
    made_of = [source.read_bytes() for source in (*sources, Path(__file__))]
    digest = hashlib.sha256(b"".join(made_of)).hexdigest()[:12]
    target = CACHE / f"apache-tests-{digest}"
    if not target.exists():
        building = Path(tempfile.mkdtemp(dir=CACHE))
        (building / _SERVICE).parent.mkdir(parents=True)
        (building / _SERVICE).write_text("kafkapy.OnlyZooKeeper\n")
        scala = [str(source) for source in sources if source.suffix == ".scala"]
        if scala:
            short_lived = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
            compiler = [java(), *short_lived, "-cp", tests, "scala.tools.nsc.Main", "-nowarn", "-usejavacp"]
            subprocess.run([*compiler, "-d", str(building), *scala], check=True)
        if not apache:
            _sign_with_sha256(building)
        in_java = [str(source) for source in sources if source.suffix == ".java"]
        subprocess.run([f"{java()}c", "-d", str(building), "-cp", tests, *in_java], check=True)
        building.rename(target)
    return target
