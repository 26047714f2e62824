"""Prints docs/configuration.md, made from the tables of configs: `python -m tests.pages.generators.configuration`."""

from __future__ import annotations

import sys

from kafkapy.common.config_def import ConfigKey, to_text
from kafkapy.log.log_config import LogConfig
from kafkapy.server.config.dynamic_config_rules import ReplicationQuotaConfigs
from kafkapy.server.config.startup_warnings import NOT_ACTED_ON
from kafkapy.server.config.tables.coordinators import CoordinatorConfigs
from kafkapy.server.config.tables.general import GeneralConfigs
from kafkapy.server.config.tables.kraft import KRaftConfigs
from kafkapy.server.config.tables.logs import LogConfigs
from kafkapy.server.config.tables.network import NetworkConfigs
from kafkapy.server.config.tables.replication import ReplicationConfigs
from kafkapy.server.config.tables.security import SecurityConfigs
from kafkapy.server.config.tables.tiered_storage import TieredStorageConfigs
from kafkapy.server.config.zk_entity_configs import ClientQuotaConfigs, IpConfigs
from tests.pages.generators.markdown import table

_BROKER_SECTIONS = (
    ("Broker, ZooKeeper, threads, metrics, quotas", GeneralConfigs),
    ("Listeners, connections, requests", NetworkConfigs),
    ("Logs and their cleaning", LogConfigs),
    ("Replication and the controller", ReplicationConfigs),
    ("Groups, offsets, transactions", CoordinatorConfigs),
    ("Security", SecurityConfigs),
    ("Tiered storage", TieredStorageConfigs),
    ("KRaft", KRaftConfigs),
)

_INTRODUCTION = """\
# Configuration

Generated from the tables in `kafkapy/server/config/tables/` and `kafkapy/log/log_config.py` by `python -m
tests.pages.generators.configuration`; change those, not this page.

The configs, their types, defaults and limits are those of Apache Kafka 3.9.1 in ZooKeeper mode. A broker reads a
properties file (`bin/kafka-server-start.sh config/server.properties`); `--override key=value` wins over the file. A
value of the wrong type or out of range, or one that contradicts another, stops the start with a sentence that says
which. A name that is not known is named in a warning, and so is a config that is marked ¹ below and set to another
value than its default: it is known and checked, but kafkapy does not act on it yet.

Protection that is asked for and cannot be given (`zookeeper.ssl.crl.enable=true`) stops the start. The sentence
says what could not be enforced.

**From the environment.** With `--env` (in a container; there the file may be left out) variables that begin with
`KAFKA_` are configs, too, by the rule of Apache's and Confluent's images: the rest in small letters, `_` for a dot,
`__` for `_`, `___` for `-`. `KAFKA_LOG_RETENTION_HOURS=1` is `log.retention.hours=1`. They hold before the file,
`--override` holds before them, and a line of the log names them at the start. `KAFKA_LOG4J_ROOT_LOGLEVEL` and
`KAFKA_LOG4J_LOGGERS` (`kafka.controller=DEBUG,...`) set levels; `KAFKA_HEAP_OPTS`, `KAFKA_OPTS` and others for a
JVM have no effect, which a warning says. Without `--env` no variable is read.

**Changes without restart.** The column *update* says what a running broker takes: `read-only` configs only change
in the file, `per-broker` ones can be set for one broker, `cluster-wide` ones for one or for all:

    bin/kafka-configs.sh --bootstrap-server localhost:9092 --alter --entity-type brokers --entity-name 0 \\
        --add-config log.cleaner.threads=2
    bin/kafka-configs.sh --bootstrap-server localhost:9092 --alter --entity-type brokers --entity-default \\
        --add-config log.retention.ms=86400000

They are kept in ZooKeeper. The first that is set holds: this broker's, all brokers', the file's, the default; for a
topic its own config goes first. Where several configs say the same thing in other units, the finer one goes first
(`log.retention.ms`, `log.retention.minutes`, `log.retention.hours`).

**For one listener.** `listener.name.<listener in lower case>.<config>` holds for that listener alone and goes
before the plain form: `max.connections`, `max.connection.creation.rate`, `num.network.threads` and the configs of
TLS and SASL.

**The watchdog.** `kafka-server-start` leaves a small process (12 MB) beside the broker. When the broker's process
has ended without closing its ZooKeeper session (`kill -9`, out of memory, a crash), it closes that session: other
brokers take over at once instead of when the session's time is up, and a restart need not wait either. It never
touches the session of a process that lives, however long that is stopped. `kafkapy.watchdog.enable=false` in the
properties file (or by `--override`) switches it off. It is off by itself, and the log says so, where the system has
no pidfd (Linux has since 5.3). It can't help if it is killed with the broker: the end of a whole container or
machine is noticed when the session expires, as with Apache's brokers.

**Stacks.** `kill -QUIT` of the broker's process has it write what each of its threads is doing to stdout (with
`-daemon`: `kafkaServer.out`), as a JVM does; it goes on. A crash in machine code writes the same to stderr.

**Schemas.** `kafkapy.schema.registry.url=http://localhost:8081` in the properties file (with
`kafkapy.schema.registry.basic.auth.user.info` and `kafkapy.schema.registry.ssl.ca.location` where it needs them)
lets topics have `kafkapy.value.schema.validation=true`: records whose values name no schema of the subjects in
`kafkapy.value.schema.subjects` (default: `<topic>-value`; `*` is a pattern) are refused. `docs/bus.md` says what
happens while the registry is down.

**Audit.** `kafkapy.audit.level` says what is recorded, a JSON object a line: `off` (default), `denied` (refusals of
the authorizer, authentications that fail), `changes` (also changes of ACLs, SCRAM users, quotas, configs,
delegation tokens and topics, and authentications that succeed), `all` (also what the authorizer allows).
`kafkapy.audit.file` (default: `kafka-audit.jsonl` in the directory of the logs) is rotated before it has more than
`kafkapy.audit.file.max.bytes` (104857600), and `kafkapy.audit.file.max.count` (10) old ones are kept; or
`kafkapy.audit.topic` names a topic of this cluster, which the brokers make if it is missing and write as clients of
the inter-broker listener. Requests never wait for the audit: up to `kafkapy.audit.queue.max.records` (10000)
records wait for the disk or the topic, what comes then is lost, counted in the log, in the audit itself
(`"event":"lost"`) and in the metrics. `kafkapy.audit.ignore.principals=User:broker;User:monitor` leaves out the
decisions, changes and successful authentications of these.

**Metrics.** `kafkapy.metrics.listener=localhost:9404` in the properties file serves metrics for Prometheus there;
`kafkapy.metrics.max.series` (2000) bounds the series of each metric that has one for each partition; see
[metrics](metrics.md). Unset, there are none.

**Health.** `kafkapy.health.listener=localhost:9405` answers `/healthz` (200: it lives) and `/readyz` (200: it
serves; 503 and the reason: it does not) from the start to the end; the address of the metrics does so, too, while
that is there.
"""

_HEAD = ("name", "type", "default", "allowed", "update", "meaning")
_TOPIC_HEAD = ("name", "type", "default", "allowed", "broker config", "meaning")
_ENTITY_HEAD = ("name", "type", "default", "allowed", "meaning")


def reference() -> str:
    """The page, as Markdown."""
    parts = [_INTRODUCTION, "## Broker configs\n"]
    for title, configs in _BROKER_SECTIONS:
        keys = sorted(configs.definition.values(), key=lambda key: key.name)
        parts += [f"### {title}\n", table(_HEAD, (_broker_row(key) for key in keys))]
    topic_keys = sorted(LogConfig.definition.values(), key=lambda key: key.name)
    parts += [
        "## Topic configs\n",
        "Set with `--config` of `bin/kafka-topics.sh --create` or `bin/kafka-configs.sh --entity-type topics`; they\n"
        "take effect at once. Where a topic has none, the broker's config holds (the first that is set).\n",
        table(_TOPIC_HEAD, (_topic_row(key) for key in topic_keys)),
        "## Configs that only exist in ZooKeeper\n",
        "For brokers (`--entity-type brokers`)¹:\n",
        table(_ENTITY_HEAD, map(_entity_row, ReplicationQuotaConfigs.definition.values())),
        "For users, client ids and client ids of users (`--entity-type users`, `clients`)¹; users also have SCRAM\n"
        "credentials (`SCRAM-SHA-256=[iterations=8192,password=...]`)¹:\n",
        table(_ENTITY_HEAD, map(_entity_row, ClientQuotaConfigs.definition.values())),
        "For addresses (`--entity-type ips`)¹:\n",
        table(_ENTITY_HEAD, map(_entity_row, IpConfigs.definition.values())),
        "¹ Known, checked and stored, but without effect yet.\n",
    ]
    return "\n".join(parts)


def _broker_row(key: ConfigKey) -> tuple[str, ...]:
    mark = "¹" if key.name in NOT_ACTED_ON else ""
    internal = " *(internal)*" if key.internal else ""
    return (f"`{key.name}`{mark}{internal}", _type(key), _default(key), _allowed(key), key.mode.value, key.doc)


def _topic_row(key: ConfigKey) -> tuple[str, ...]:
    return (f"`{key.name}`", _type(key), _default(key), _allowed(key), ", ".join(key.synonyms), key.doc)


def _entity_row(key: ConfigKey) -> tuple[str, ...]:
    return (f"`{key.name}`", _type(key), _default(key), _allowed(key), key.doc)


def _type(key: ConfigKey) -> str:
    return key.type.name.lower()


def _default(key: ConfigKey) -> str:
    return "" if key.default is None else to_text(key.default) or '""'


def _allowed(key: ConfigKey) -> str:
    return "" if key.validator is None else str(key.validator)


if __name__ == "__main__":
    sys.stdout.write(reference())
