"""A Spark standalone cluster as processes, out of PySpark's own jars: a master, workers, and the executors that those start."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from pathlib import Path

import psutil

from benchmarks.apache import java
from kafkapy.common.free_ports import free_ports
from system_tests.services import HOST, Service

_OPTIONS = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]


def spark_home() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


class SparkService(Service):
    def command(self) -> list[str]:
        return [java(), *_OPTIONS, "-cp", f"{spark_home() / 'jars'}/*", *self.words()]

    def words(self) -> list[str]:
        """Class and arguments."""
        raise NotImplementedError

    def environment(self) -> Mapping[str, str]:
        """What bin/spark-class sets; workers make executors' commands of it."""
        home = spark_home()
        (core,) = (home / "jars").glob("spark-core_*.jar")
        scala = core.name.removeprefix("spark-core_").partition("-")[0]
        return {**os.environ, "SPARK_HOME": str(home), "SPARK_SCALA_VERSION": scala, "SPARK_LOCAL_IP": HOST}

    def is_serving(self) -> bool:
        try:
            socket.create_connection((HOST, self.port), 1).close()
            return True
        except OSError:
            return False


class SparkMaster(SparkService):
    name = "spark-master"

    @property
    def url(self) -> str:
        return f"spark://{HOST}:{self.port}"

    def words(self) -> list[str]:
        (web,) = free_ports(1)
        return [
            "org.apache.spark.deploy.master.Master",
            "--host",
            HOST,
            "--port",
            str(self.port),
            "--webui-port",
            str(web),
        ]


class SparkWorker(SparkService):
    """Of one core."""

    def __init__(self, directory: Path, master: SparkMaster, number: int) -> None:
        self.name = f"spark-worker-{number}"
        super().__init__(directory)
        self._master = master

    def words(self) -> list[str]:
        (web,) = free_ports(1)
        given = ["--host", HOST, "--port", str(self.port), "--webui-port", str(web), "--cores", "1", "--memory", "800m"]
        work = ["--work-dir", str(self.directory / "work")]
        return ["org.apache.spark.deploy.worker.Worker", *given, *work, self._master.url]

    def executors(self) -> list[psutil.Process]:
        return [each for each in psutil.Process(self.pid).children() if each.is_running()]

    def close(self) -> None:
        """With the executors."""
        family = [] if not self.is_running else psutil.Process(self.pid).children(recursive=True)
        super().close()
        for each in family:
            if each.is_running():
                each.kill()
