"""HDFS as processes: a NameNode and a DataNode out of Maven Central's jars."""

from __future__ import annotations

import json
import subprocess
import urllib.request
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.apache import jars, java
from kafkapy.common.free_ports import free_ports
from system_tests.services import HOST, Service

POM = Path(__file__).with_name("hdfs.xml")


class HdfsService(Service):
    """Which of the two `kind` says. Both have their configuration in DIRECTORY/conf."""

    start_seconds = 90

    def __init__(self, directory: Path, kind: str) -> None:
        self.name = kind.lower()
        super().__init__(directory)
        self._kind = kind

    def command(self) -> list[str]:
        classes = f"{self.directory / 'conf'}:{jars(POM)}"
        options = ["-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        package = "namenode" if self._kind == "NameNode" else "datanode"
        return [java(), *options, "-cp", classes, f"org.apache.hadoop.hdfs.server.{package}.{self._kind}"]


class NameNode(HdfsService):
    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "NameNode")
        (self.web_port,) = free_ports(1)
        settings = {
            "fs.defaultFS": self.url,
            "dfs.namenode.name.dir": str(directory / "name"),
            "dfs.namenode.http-address": f"{HOST}:{self.web_port}",
            "dfs.replication": "1",
            "dfs.permissions.enabled": "false",
        }
        write_configuration(directory, settings)
        self._settings = settings
        subprocess.run([*self.command(), "-format", "-nonInteractive"], check=True, capture_output=True)

    @property
    def url(self) -> str:
        return f"hdfs://{HOST}:{self.port}"

    @property
    def settings(self) -> dict[str, str]:
        return dict(self._settings)

    def is_serving(self) -> bool:
        return self.live_data_nodes() is not None

    def live_data_nodes(self) -> int | None:
        """None: it does not answer yet."""
        query = f"http://{HOST}:{self.web_port}/jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
        try:
            with urllib.request.urlopen(query, timeout=5) as answer:
                beans = json.load(answer)["beans"]
        except OSError:
            return None
        return int(beans[0]["NumLiveDataNodes"]) if beans else None


class DataNode(HdfsService):
    def __init__(self, directory: Path, name_node: NameNode) -> None:
        super().__init__(directory, "DataNode")
        self._name_node = name_node
        ports = free_ports(3)
        names = "dfs.datanode.address", "dfs.datanode.ipc.address", "dfs.datanode.http.address"
        places = {name: f"{HOST}:{port}" for name, port in zip(names, ports, strict=True)}
        data = {"dfs.datanode.data.dir": str(directory / "data")}
        write_configuration(directory, {**name_node.settings, **places, **data})

    def is_serving(self) -> bool:
        return bool(self._name_node.live_data_nodes())


def write_configuration(directory: Path, settings: dict[str, str]) -> None:
    rows = [
        f"<property><name>{name}</name><value>{escape(value)}</value></property>" for name, value in settings.items()
    ]
    text = f"<configuration>{''.join(rows)}</configuration>"
    for name in ("hdfs", "datanode"):  # their pages, which Maven Central's jars do not have
        (directory / "conf" / "webapps" / name).mkdir(parents=True, exist_ok=True)
    for name in ("core-site.xml", "hdfs-site.xml"):
        (directory / "conf" / name).write_text(text)
    lines = "log4j.rootLogger=INFO, out", "log4j.appender.out=org.apache.log4j.ConsoleAppender"
    layout = (
        "log4j.appender.out.layout=org.apache.log4j.PatternLayout",
        "log4j.appender.out.layout.ConversionPattern=%d %p %m%n",
    )
    (directory / "conf" / "log4j.properties").write_text("\n".join([*lines, *layout, ""]))
