"""Runs a Hive metastore from PySpark's jars, so that several processes can share it with packages of pip only.

It is Hive's service on Derby, without authentication: only the configured address and the machine's firewall restrict
access.
"""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from kafkapy.spark.java_home import java_home
from kafkapy.warehouse.config import ConfigError, WarehouseConfig
from kafkapy.warehouse.session import metastore_directory

_SETTINGS = {
    "datanucleus.schema.autoCreateAll": "true",
    "hive.metastore.schema.verification": "false",
    # PySpark has no jar for log lines written by a thread of their own.
    "hive.async.log.enabled": "false",
}


def command(config: WarehouseConfig) -> list[str]:
    """Return the command that runs it at the configured address. Raises ConfigError, NoJavaError."""
    port = urlsplit(config.metastore).port
    if port is None:
        raise ConfigError('metastore: give it an address, such as "thrift://127.0.0.1:9083"')
    import pyspark

    place = metastore_directory(config)
    place.mkdir(parents=True, exist_ok=True)
    jars = Path(pyspark.__file__).parent / "jars"
    java = str(Path(java_home(place / "java")) / "bin" / "java")
    url = f"jdbc:derby:;databaseName={place / 'derby'};create=true"
    settings = {
        **_SETTINGS,
        "javax.jdo.option.ConnectionURL": url,
        "hive.metastore.warehouse.dir": str(place / "spark-warehouse"),
    }
    given = [word for name, value in settings.items() for word in ("--hiveconf", f"{name}={value}")]
    options = ["-Xmx256m", f"-Dderby.system.home={place}", "-Dderby.stream.error.file=/dev/null"]
    classes = ["-cp", f"{jars}/*", "org.apache.hadoop.hive.metastore.HiveMetaStore"]
    return [java, *options, *classes, "-p", str(port), *given]
