"""Apache Kafka 3.9.1 out of Maven Central, and Java programs on its classpath."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
CACHE = Path(os.environ.get("KAFKAPY_BENCH_CACHE", Path.home() / ".cache" / "kafkapy-benchmarks"))

# As in kafka-server-start.sh and kafka-run-class.sh of the distribution.
BROKER_FLAGS = [
    "-Xmx1G",
    "-Xms1G",
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
]


def java() -> str:
    home = os.environ.get("JAVA_HOME")
    return f"{home}/bin/java" if home else "java"


def jars(pom: Path = HERE / "pom.xml") -> str:
    """The classpath of what `pom` names, without more the whole of Apache Kafka; fetched on first use."""
    target = CACHE / f"kafka-{hashlib.sha256(pom.read_bytes()).hexdigest()[:12]}"
    if not (target / ".complete").exists():
        if shutil.which("mvn") is None:
            raise SystemExit("Apache Kafka is fetched with Maven: install maven and run it again.")
        shutil.rmtree(target, ignore_errors=True)
        plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
        subprocess.run(["mvn", "-q", "-B", "-f", str(pom), f"-DoutputDirectory={target}", plugin], check=True)
        (target / ".complete").touch()
    return f"{target}/*"


def classes() -> str:
    """The compiled programs of benchmarks/java."""
    sources = sorted((HERE / "java").glob("*.java"))
    digest = hashlib.sha256(b"".join(s.read_bytes() for s in sources)).hexdigest()[:12]
    target = CACHE / f"classes-{digest}"
    if not target.exists():
        part = target.with_suffix(".part")  # programs that do not compile leave no folder that looks complete
        shutil.rmtree(part, ignore_errors=True)
        part.mkdir(parents=True)
        subprocess.run([f"{java()}c", "-nowarn", "-d", str(part), "-cp", jars(), *map(str, sources)], check=True)
        part.rename(target)
    return str(target)


def client_command(*args: str) -> list[str]:
    """The command line of a client program."""
    log4j = f"-Dlog4j.configuration=file:{HERE}/log4j.properties"
    return [java(), "-Xmx512m", log4j, "-cp", f"{classes()}:{jars()}", *args]


def run_java(*args: str, timeout: float = 300) -> str:
    """Run a client program; its standard output."""
    done = subprocess.run(client_command(*args), capture_output=True, text=True, timeout=timeout)
    if done.returncode:
        raise RuntimeError(f"{' '.join(args)} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return done.stdout
