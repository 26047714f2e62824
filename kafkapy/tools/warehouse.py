"""kafkapy-warehouse: writes events of topics to tables on Spark (`kafkapy.warehouse`, docs/warehouse.md)."""

from __future__ import annotations

import argparse
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NoReturn

from kafkapy.clients.software import VERSION_LINE
from kafkapy.common.extras import need
from kafkapy.tools.common.command_line import CommandLineError, ToolError, guard

DESCRIPTION = """Events of Kafka's topics as tables of a warehouse, on Spark.

run       fill the tables, a batch a minute, and roll hours up when they are over
rollup    roll hours up now, and delete what no view has shown for the time of grace
status    what the tables hold, and how far they are behind
audit     what was sent, what the log holds, what the tables hold, hour by hour; status 1 if something is missing or twice
backfill  build hours again from the topics
metastore run a Hive metastore, out of PySpark's jars, at the configuration's address: for several processes at once
redrive   read records of the quarantine again, when what was wrong with them is mended
compact   write hours of many files anew, and delete what killed processes have left
files     the Parquet files of a table's hours that are rolled up, each event once, for readers without Spark
"""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise CommandLineError(f"{message}\n{self.format_usage().strip()}")


def parser() -> argparse.ArgumentParser:
    made = _Parser("kafkapy-warehouse", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--version", action="version", version=VERSION_LINE, help="print the version and exit")
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND", parser_class=_Parser)
    for name in (*COMMANDS, "metastore", "files"):
        command = commands.add_parser(name)
        command.add_argument("config", type=Path, metavar="CONFIG", help="a file like config/warehouse.toml")
        if name == "run":
            command.add_argument("--once", action="store_true", help="end when all that is there now has been read")
        if name == "files":
            command.add_argument("table", metavar="TABLE")
        if name == "backfill":
            command.add_argument("hours", nargs="+", metavar="HOUR", help="like 2026-11-24-03 (UTC)")
            command.add_argument("--table", action="append", default=[], help="only this one; may be repeated")
        if name == "redrive":
            command.add_argument("--topic", action="append", default=[], help="only of this one; may be repeated")
            command.add_argument("--reason", default="", help="only records with this text in their reason")
        if name == "rollup":
            command.add_argument("--until", metavar="HOUR", help="hours before this one: 2026-11-24-03 (UTC)")
    return made


def main(argv: Sequence[str] | None = None) -> int:
    return guard(lambda: execute(sys.argv[1:] if argv is None else argv))


def execute(arguments: Sequence[str]) -> int | None:
    chosen = parser().parse_args(arguments)
    need("warehouse", "pyspark", "pyarrow", "numpy", "fastavro", "jsonschema", by="The warehouse")
    from kafkapy.warehouse.config import ConfigError, WarehouseConfig

    try:
        config = WarehouseConfig.load(chosen.config)
    except (ConfigError, OSError) as error:
        raise ToolError(str(error)) from None
    logging.basicConfig(format="%(asctime)s %(levelname)s %(message)s", level=logging.INFO)
    for noisy in ("py4j", "kafkapy.clients"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    if chosen.command == "metastore":
        return _metastore(config)
    if chosen.command == "files":
        _files(config, chosen.table)
        return None
    warehouse = _open(config)
    try:
        return COMMANDS[chosen.command](warehouse, chosen)
    finally:
        warehouse.spark.stop()


def _metastore(config: Any) -> NoReturn:
    from kafkapy.spark.java_home import NoJavaError
    from kafkapy.warehouse.config import ConfigError
    from kafkapy.warehouse.metastore_server import command

    try:
        words = command(config)
    except (ConfigError, NoJavaError) as error:
        raise ToolError(str(error)) from None
    os.execv(words[0], words)


def _files(config: Any, table: str) -> None:
    from kafkapy.warehouse.ledger import LedgerError
    from kafkapy.warehouse.reader import NoTableError, table_files

    try:
        found = table_files(config.root, table)
    except (NoTableError, LedgerError) as error:
        raise ToolError(str(error)) from None
    for hour in found.hours:
        for path in hour.paths:
            print(path)
    if found.batches:
        others = sorted({hour for batch in found.batches for hour in batch.hours})
        print(
            f"Not in these files: rows of {', '.join(others)} that no rollup has had yet. kafkapy.warehouse.reader.read_table "
            "has them, too",
            file=sys.stderr,
        )


def _open(config: Any) -> Any:
    from kafkapy.spark.java_home import NoJavaError
    from kafkapy.warehouse.ledger import LedgerError
    from kafkapy.warehouse.session import session
    from kafkapy.warehouse.warehouse import Warehouse

    try:
        spark = session(config)
    except NoJavaError as error:
        raise ToolError(str(error)) from None
    try:
        warehouse = Warehouse(spark, config)
        warehouse.start()
    except Exception as error:
        spark.stop()
        if isinstance(error, LedgerError):
            raise ToolError(str(error)) from None
        if "Another instance of Derby" in str(error) or "XSDB6" in str(error):
            raise ToolError(
                "The embedded metastore is for one process at a time, and another has it. Stop that one, or give "
                "`metastore` the address of a Hive metastore"
            ) from None
        raise
    return warehouse


def _run(warehouse: Any, chosen: argparse.Namespace) -> None:
    from kafkapy.warehouse.config import ConfigError
    from kafkapy.warehouse.ledger import LedgerError
    from kafkapy.warehouse.metrics import RunProgress
    from kafkapy.warehouse.page import serve
    from kafkapy.warehouse.plan import RecordsLostError
    from kafkapy.warehouse.stream import run

    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    log = logging.getLogger("kafkapy.warehouse")
    progress = RunProgress(warehouse.time)

    def on_batch(batch: Any) -> None:
        log.info("Batch %d: %s", batch.number, batch.rows)

    try:
        with serve(warehouse, progress) as url:
            if url is not None:
                log.info("Metrics and a page: %s", url)
            run(warehouse, stopped, chosen.once, on_batch, progress=progress)
    except (RecordsLostError, ConfigError, LedgerError) as error:
        raise ToolError(str(error)) from None


def _status(warehouse: Any, chosen: argparse.Namespace) -> None:
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.warehouse.cluster import TopicLogs
    from kafkapy.warehouse.lag import LagWatch
    from kafkapy.warehouse.metrics import status_text

    cluster = TopicLogs(warehouse.config)
    try:
        lag = LagWatch(warehouse.config, cluster, warehouse.time).look(warehouse.state)
    except KafkaError as error:
        print(f"{status_text(warehouse.state)}\nThe lag is not known: {error}")
    else:
        print(status_text(warehouse.state, lag, warehouse.time.milliseconds()))
    finally:
        cluster.close()


def _audit(warehouse: Any, chosen: argparse.Namespace) -> int:
    from kafkapy.warehouse.audit import AuditError, audit, table_of

    try:
        report = audit(warehouse)
    except AuditError as error:
        raise ToolError(str(error)) from None
    print(table_of(report))
    return 0 if report.is_good else 1


def _backfill(warehouse: Any, chosen: argparse.Namespace) -> None:
    from kafkapy.warehouse.backfill import BackfillError, backfill

    try:
        made = backfill(warehouse, [_hour(hour) for hour in chosen.hours], chosen.table)
    except BackfillError as error:
        raise ToolError(str(error)) from None
    for each in made:
        print(f"{each.table}\t{each.hour}\t{each.rows} rows")
    warehouse.sweep()


def _redrive(warehouse: Any, chosen: argparse.Namespace) -> None:
    from kafkapy.warehouse.redrive import redrive
    from kafkapy.warehouse.rollup import OutrunError

    known = {table.topic for table in warehouse.config.tables}
    unknown = sorted(set(chosen.topic) - known)
    if unknown:
        raise ToolError(f"The configuration has no topic {', '.join(unknown)}; it has {', '.join(sorted(known))}")
    try:
        found = redrive(warehouse, chosen.topic, chosen.reason)
    except OutrunError as error:
        raise ToolError(str(error)) from None
    for table, rows in sorted(found.rows.items()):
        print(f"{table}\t{rows} rows")
    print(f"{found.left} records stay in the quarantine")
    warehouse.sweep()


def _compact(warehouse: Any, chosen: argparse.Namespace) -> None:
    from kafkapy.warehouse.compact import compact

    rewritten, deleted = compact(warehouse)
    print(f"{rewritten} hours written anew, {deleted} directories of killed processes deleted")


def _rollup(warehouse: Any, chosen: argparse.Namespace) -> None:
    from kafkapy.warehouse.rollup import roll_up
    from kafkapy.warehouse.stream import due_cutoff

    cutoff = due_cutoff(warehouse.time.milliseconds(), warehouse.config.rollup_delay_minutes)
    if chosen.until is not None:
        cutoff = _hour(chosen.until)
    rollup = roll_up(warehouse, cutoff)
    for each in rollup.generations if rollup is not None else ():
        print(f"{each.table}\t{each.hour}\t{each.rows} rows\t{each.dropped} came twice")
    if rollup is None:
        print(f"No hour before {cutoff} has rows that are not in it yet")
    warehouse.sweep()


def _hour(text: str) -> str:
    from datetime import datetime

    try:
        return datetime.strptime(text, "%Y-%m-%d-%H").strftime("%Y-%m-%d-%H")
    except ValueError:
        raise ToolError(f"{text!r} is no hour: it is written like 2026-11-24-03, in UTC") from None


COMMANDS: dict[str, Callable[[Any, argparse.Namespace], int | None]] = {
    "run": _run,
    "rollup": _rollup,
    "status": _status,
    "audit": _audit,
    "backfill": _backfill,
    "redrive": _redrive,
    "compact": _compact,
}


if __name__ == "__main__":
    sys.exit(main())
