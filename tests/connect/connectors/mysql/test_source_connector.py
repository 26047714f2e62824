"""The MariaDB connector against a real server."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("pymysql")

from kafkapy.connect.errors import ConnectException
from kafkapy.connect.testing import ConnectorTest, Kill
from kafkapy.testing import KafkaCluster
from tests.connect.connectors.mysql.binlog_world import BinlogWorld
from tests.connect.connectors.postgresql.captured import header, ops, plain
from tests.databases.mariadb import PASSWORD, USER, MariadbServer
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server() -> Iterator[MariadbServer]:
    with MariadbServer.private() as server:
        yield server


@pytest.fixture
def world(server: MariadbServer) -> Iterator[BinlogWorld]:
    world = BinlogWorld(server)
    yield world
    world.clean()


def test_snapshot_then_changes(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY, name text)")
    world.sql("INSERT INTO a VALUES (1, 'one'), (2, 'two'), (3, NULL)")
    with world.running() as run:
        records = run.until(3)
        assert ops(records) == [("r", 1), ("r", 2), ("r", 3)]
        assert [r.value["source"]["snapshot"] for r in records] == ["first", "true", "last"]
        world.sql(
            "INSERT INTO a VALUES (4, 'four')", "UPDATE a SET name = 'zwei' WHERE id = 2", "DELETE FROM a WHERE id = 1"
        )
        records = run.until(7)[3:]
    assert ops(records) == [("c", 4), ("u", 2), ("d", 1), (None, 1)]
    assert plain(records[1].value["after"]) == {"id": 2, "name": "zwei"}
    assert plain(records[1].value["before"]) == {"id": 2, "name": "two"}
    assert plain(records[2].value["before"]) == {"id": 1, "name": "one"}
    assert {r.topic for r in records} == {"dbs.shop.a"}
    source = records[0].value["source"]
    assert (source["db"], source["table"], source["server_id"], source["connector"]) == ("shop", "a", 7, "mariadb")
    assert str(source["gtid"]).startswith("3-7-")


def test_a_changed_key_is_delete_tombstone_and_create(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY, name text NOT NULL)", "INSERT INTO a VALUES (1, 'one')")
    with world.running() as run:
        run.until(1)
        world.sql("UPDATE a SET id = 9")
        deleted, tombstone, created = run.until(4)[1:]
    assert ops([deleted, tombstone, created]) == [("d", 1), (None, 1), ("c", 9)]
    assert plain(header(deleted, "__debezium.newkey")) == {"id": 9}
    assert plain(header(created, "__debezium.oldkey")) == {"id": 1}


TYPES = {
    "tiny": ("tinyint", "-7"),
    "utiny": ("tinyint unsigned", "200"),
    "small": ("smallint", "-300"),
    "usmall": ("smallint unsigned", "65000"),
    "medium": ("mediumint", "-70000"),
    "umedium": ("mediumint unsigned", "16000000"),
    "plain": ("int", "-5"),
    "uplain": ("int unsigned", "4000000000"),
    "big": ("bigint", "-5000000000"),
    "ubig": ("bigint unsigned", "18446744073709551615"),
    "amount": ("decimal(10,2)", "-12.5"),
    "huge": ("decimal(30,10)", "12345678901234567890.0123456789"),
    "ratio": ("float", "0.1"),
    "exact": ("double", "0.1"),
    "fixed": ("char(5)", "'ab'"),
    "name": ("varchar(300)", "'naïve 𝄞'"),
    "latin": ("varchar(20) CHARACTER SET latin1", "'grün'"),
    "cyrillic": ("text CHARACTER SET koi8r", "'да'"),
    "wide": ("varchar(20) CHARACTER SET utf16", "'ä𝄞'"),
    "large": ("longtext", "repeat('x', 70000)"),
    "data": ("varbinary(10)", "x'00ff'"),
    "padded": ("binary(4)", "x'0100'"),
    "lump": ("blob", "x'00ff00'"),
    "doc": ("json", """'{"a": 1}'"""),
    "mood": ("enum('good','so so','it''s')", "'it''s'"),
    "marks": ("set('a','b','c')", "'a,c'"),
    "one_bit": ("bit", "b'1'"),
    "bits": ("bit(9)", "b'100000001'"),
    "day": ("date", "'2024-02-29'"),
    "clock": ("time(3)", "'-12:34:56.789'"),
    "long_clock": ("time", "'800:00:01'"),
    "fine_clock": ("time(6)", "'-00:00:00.000001'"),
    "moment": ("datetime(6)", "'2024-02-29 12:34:56.789012'"),
    "short_moment": ("datetime", "'1000-01-01 00:00:00'"),
    "zoned": ("timestamp(3) NULL", "'2024-02-29 12:34:56.5'"),
    "y": ("year", "2024"),
    "place": ("point", "ST_GeomFromText('POINT(1 2.5)')"),
    "line": ("linestring", "ST_GeomFromText('LINESTRING(0 0, 1 1)')"),
    "nothing": ("int unsigned", "NULL"),
    "after_all": ("bigint unsigned", "1"),
}


@pytest.mark.parametrize("mode", ["", "connect"])
def test_a_snapshot_and_the_stream_have_the_same_values(world: BinlogWorld, mode: str) -> None:
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in TYPES.items())
    row = ", ".join(value for _, value in TYPES.values())
    world.sql("SET time_zone = '+02:00'", f"CREATE TABLE a (id int PRIMARY KEY, {columns})")
    world.sql("SET time_zone = '+02:00'", f"INSERT INTO a VALUES (1, {row})")
    configs = {"time_precision_mode": mode} if mode else {}
    with world.running(**configs) as run:
        run.until(1)
        world.sql("SET time_zone = '+02:00'", f"INSERT INTO a VALUES (2, {row})")
        read, created = (record.value["after"] for record in run.until(2))
    assert read.schema == created.schema
    values, streamed = shown(read), shown(created)
    assert {**values, "id": 2} == streamed
    if mode:
        assert values["moment"] == 1709210096789
        return
    numbers = {name: values[name] for name in ("utiny", "usmall", "umedium", "uplain", "big", "ubig", "y", "after_all")}
    assert list(numbers.values()) == [200, 65000, 16000000, 4000000000, -5000000000, -1, 2024, 1]
    assert (str(values["amount"]), str(values["huge"])) == ("-12.50", "12345678901234567890.0123456789")
    texts = {"fixed": "ab", "name": "naïve 𝄞", "latin": "grün", "cyrillic": "да", "wide": "ä𝄞", "doc": '{"a": 1}'}
    assert {name: values[name] for name in texts} == texts
    assert (values["data"], values["padded"], values["bits"]) == (b"\0\xff", b"\1\0\0\0", b"\1\1")
    assert (values["mood"], values["marks"], values["one_bit"]) == ("it's", "a,c", True)
    assert (values["day"], values["moment"], values["short_moment"]) == (19782, 1709210096789012, -30610224000000)
    assert (values["clock"], values["long_clock"], values["fine_clock"]) == (-45296789000, 2880001000000, -1)
    assert values["zoned"] == "2024-02-29T10:34:56.500Z"
    assert (values["place"]["x"], values["place"]["y"]) == (1.0, 2.5)
    assert read.schema.field("mood").schema.parameters == {"allowed": "good,so so,it's"}


def shown(struct: Any) -> dict[str, Any]:
    """Values that can be compared."""
    values = plain(struct) or {}
    return {
        name: plain(value) if hasattr(value, "schema") else getattr(value, "ms", value)
        for name, value in values.items()
    }


def test_dates_that_no_calendar_has(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY, day date, must date NOT NULL, at datetime NOT NULL)")
    with world.running() as run:
        for number in (1, 2):
            world.sql("SET sql_mode = ''", f"INSERT INTO a VALUES ({number}, '2024-00-00', '0000-00-00', 0)")
            run.until(number)
    assert [plain(record.value["after"]) for record in run.records] == [
        {"id": number, "day": None, "must": 0, "at": 0} for number in (1, 2)
    ]


@pytest.mark.parametrize("has_gtids", [True, False])
def test_a_restart_continues_inside_a_transaction(world: BinlogWorld, has_gtids: bool) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (0)")
    with world.running() as run:
        run.until(1)
    rows = ", ".join(f"({number})" for number in range(1, 8))
    world.sql(f"INSERT INTO a VALUES {rows}", "DELETE FROM a WHERE id < 3", "UPDATE a SET id = id + 100 WHERE id = 5")
    seen: list[Any] = []
    for _ in range(40):
        assert world.offsets.stored is not None
        if not has_gtids:
            del world.offsets.stored["gtids"]
        with world.running(tombstones_on_delete="false") as run:
            while not run.poll() and len(seen) < 12:
                pass
            run.deliver(1)
            seen += ops(run.delivered)
        if len(seen) >= 12:
            break
    # A change of a key is done when all of its records are delivered; here only the first one ever is.
    assert seen == [*[("c", n) for n in range(1, 8)], ("d", 0), ("d", 1), ("d", 2), ("d", 5), ("d", 5)]


def test_structure_changes_and_old_rows_are_read_with_their_own(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY, name text)", "INSERT INTO a VALUES (1, 'one')")
    with world.running() as run:
        run.until(1)
    world.sql("INSERT INTO a VALUES (2, 'two')")
    world.sql("ALTER TABLE a ADD COLUMN more int AFTER id, RENAME COLUMN name TO label")
    world.sql("INSERT INTO a VALUES (3, 33, 'three')")
    world.sql("ALTER TABLE a DROP COLUMN more")
    world.sql("INSERT INTO a VALUES (4, 'four')")
    with world.running() as run:
        records = run.until(3)
    assert [plain(record.value["after"]) for record in records] == [
        {"id": 2, "name": "two"},
        {"id": 3, "more": 33, "label": "three"},
        {"id": 4, "label": "four"},
    ]


def test_truncates_and_statements_that_change_tables(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    with world.running(skipped_operations="none", include_schema_changes="true") as run:
        run.until(1)
        world.sql("TRUNCATE TABLE a")
        world.sql("ALTER TABLE a ADD COLUMN n int")
        world.sql("INSERT INTO a VALUES (2, 3)")
        records = run.until(5)[1:]
    assert [record.topic for record in records] == ["dbs.shop.a", "dbs", "dbs", "dbs.shop.a"]
    assert ops(records[:1]) == [("t", None)]
    assert records[1].value["ddl"].startswith("TRUNCATE TABLE a")
    assert (records[2].value["ddl"], records[2].key["databaseName"]) == ("ALTER TABLE a ADD COLUMN n int", "shop")


def test_tables_without_keys_and_in_no_transaction(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (n int) ENGINE = MyISAM", "CREATE TABLE b AS SELECT 5 AS n")
    world.sql("INSERT INTO a VALUES (1), (2)")
    with world.running() as run:
        assert ops(run.until(3)) == [("r", None)] * 3
        world.sql("INSERT INTO a VALUES (3)")
        world.sql("CREATE TABLE c AS SELECT * FROM a")
        records = run.until(7)[3:]
    assert [(record.topic, record.value["after"]["n"]) for record in records] == [
        ("dbs.shop.a", 3),
        *[("dbs.shop.c", n) for n in (1, 2, 3)],
    ]


def test_transactions_are_told(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)")
    with world.running(provide_transaction_metadata="true", snapshot_mode="no_data") as run:
        run.poll()
        world.sql("INSERT INTO a VALUES (1)", "INSERT INTO b VALUES (2)", "DELETE FROM a")
        begin, *changes, end = run.until(6)
    assert [begin.value["status"], end.value["status"], end.value["event_count"]] == ["BEGIN", "END", 3]
    assert [change.value["transaction"]["total_order"] for change in changes if change.value is not None] == [1, 2, 3]
    assert {change.value["transaction"]["id"] for change in changes if change.value is not None} == {begin.value["id"]}


def test_a_compressed_binary_log_and_queries(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY, name text)")
    with world.running(snapshot_mode="no_data", include_query="true") as run:
        run.poll()
        world.sql("SET GLOBAL log_bin_compress = ON")
        try:
            world.sql("INSERT INTO a VALUES (1, repeat('x', 5000))")
            world.sql("UPDATE a SET name = repeat('y', 5000)")
            records = run.until(2)
        finally:
            world.sql("SET GLOBAL log_bin_compress = OFF")
    assert [record.value["after"]["name"] for record in records] == ["x" * 5000, "y" * 5000]
    assert records[0].value["source"]["query"] == "INSERT INTO a VALUES (1, repeat('x', 5000))"


def test_lost_connections_and_restarts_of_the_server(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (0)")
    with world.running() as run:
        run.until(1)
        for number in range(1, 4):
            world.sql(f"INSERT INTO a VALUES ({number})")
            if number % 2:
                world.server.kill()
                run.poll()
                world.server.start()
            else:
                world.server.end_sessions()
        assert ops(run.until(4)) == [("r", 0), ("c", 1), ("c", 2), ("c", 3)]


def test_a_snapshot_that_breaks_off_continues(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (x int, y varchar(10) CHARACTER SET latin1, PRIMARY KEY (x, y))")
    world.sql("INSERT INTO a SELECT seq DIV 4, CONCAT('k', seq) FROM seq_0_to_19", "CREATE TABLE b (n int)")
    world.sql("INSERT INTO b VALUES (1)")
    seen: list[Any] = []
    for _ in range(6):
        with world.running(snapshot_fetch_size="3", max_batch_size="4") as run:
            while not run.poll():
                pass
            run.deliver(4)
            seen += ops(run.delivered)
    keys = [key for _, key in seen if key is not None]
    assert len(keys) == 20 and len(set(keys)) == 20
    assert seen.count(("r", None)) == 1


@pytest.mark.parametrize("mode", ["initial", "when_needed"])
def test_a_purged_log(world: BinlogWorld, mode: str) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    with world.running() as run:
        run.until(1)
    world.sql("INSERT INTO a VALUES (2)")
    world.sql("FLUSH BINARY LOGS")
    world.sql("INSERT INTO a VALUES (3)")

    def is_purged() -> bool:
        world.server.end_sessions()  # a file that is still being sent is kept
        world.sql(f"PURGE BINARY LOGS TO '{world.sql('SHOW BINARY LOGS')[-1][0]}'")
        return len(world.sql("SHOW BINARY LOGS")) == 1

    wait_until(is_purged)
    with world.running(snapshot_mode=mode) as run:
        if mode == "initial":
            with pytest.raises(ConnectException, match=r"when_needed"):
                run.until(1)
            return
        assert ops(run.until(3)) == [("r", 1), ("r", 2), ("r", 3)]


def test_settings_of_the_server_that_lose_changes_are_refused(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)")
    world.sql("SET GLOBAL binlog_row_metadata = 'NO_LOG'")
    try:
        with world.running() as run, pytest.raises(ConnectException, match="SET GLOBAL binlog_row_metadata = 'FULL'"):
            run.poll()
        world.sql("SET GLOBAL binlog_row_metadata = 'FULL'")
        with world.running(snapshot_mode="no_data") as run:
            run.poll()
            world.sql("SET GLOBAL binlog_row_metadata = 'NO_LOG'")
            world.sql("INSERT INTO a VALUES (1)")
            with pytest.raises(ConnectException, match="SET GLOBAL binlog_row_metadata = 'FULL'"):
                run.until(1)
    finally:
        world.sql("SET GLOBAL binlog_row_metadata = 'FULL'")


def test_changes_without_rows_are_refused_or_skipped(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)")
    with world.running(snapshot_mode="no_data") as run:
        run.poll()
        world.sql("SET binlog_format = 'STATEMENT'", "INSERT INTO a VALUES (1)")
        with pytest.raises(ConnectException, match="binlog_format=ROW"):
            run.until(1)
    with world.running(snapshot_mode="no_data", event_processing_failure_handling_mode="warn") as run:
        run.poll()
        world.sql("SET binlog_format = 'STATEMENT'", "INSERT INTO a VALUES (2)")
        world.sql("INSERT INTO a VALUES (3)")
        assert ops(run.until(1)) == [("c", 3)]


def test_types_that_cannot_be_captured_are_named(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY, u uuid, address inet6)", "INSERT INTO a VALUES (1, UUID(), '::1')")
    with world.running() as run, pytest.raises(ConnectException, match=r"uuid.*column\.exclude\.list"):
        run.until(1)
    with world.running(column_exclude_list="shop.a.u, shop.a.address") as run:
        run.until(1)
        world.sql("INSERT INTO a VALUES (2, UUID(), '::1')")
        assert ops(run.until(2)) == [("r", 1), ("c", 2)]


def test_options_that_are_not_supported_are_refused(world: BinlogWorld) -> None:
    for name, value in (
        ("column.mask.with.5.chars", "a"),
        ("gtid.source.includes", "a"),
        ("time.precision.mode", "adaptive"),
    ):
        world.config[name] = value
        with pytest.raises(Exception, match=name.replace(".", r"\.")), world.running():
            pass
        del world.config[name]


def test_heartbeats_move_the_offset_while_nothing_is_captured(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE other (id int PRIMARY KEY)")
    configs = {"heartbeat_interval_ms": "1", "table_include_list": "shop.a", "snapshot_mode": "no_data"}
    with world.running(**configs) as run:
        first = run.until(1)[0]
        world.sql("INSERT INTO other VALUES (1)")
        while (last := run.until(len(run.records) + 1)[-1]).source_offset == first.source_offset:
            pass
    assert last.topic == "__debezium-heartbeat.dbs"
    assert (last.source_offset or {})["pos"] > (first.source_offset or {})["pos"]


def test_a_user_with_the_privileges_of_the_page(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    world.sql("CREATE OR REPLACE USER reader@'%' IDENTIFIED BY 'p'")
    world.sql("GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT ON *.* TO reader@'%'")
    with world.running(database_user="reader", database_password="p") as run:
        run.until(1)
        world.sql("INSERT INTO a VALUES (2)")
        assert ops(run.until(2)) == [("r", 1), ("c", 2)]
    world.offsets.stored = None
    world.sql("REVOKE REPLICATION SLAVE ON *.* FROM reader@'%'")
    configs = {"database_user": "reader", "database_password": "p"}
    with world.running(**configs) as run, pytest.raises(ConnectException, match=r"(?i)denied"):
        run.until(3)


def test_another_server_of_the_replication_continues(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    with world.running() as run:
        run.until(1)
    primary = world.server
    with MariadbServer.private({"server-id": "8", "log-slave-updates": "1", "gtid-domain-id": "4"}) as replica:
        place = primary.sql("SELECT @@gtid_binlog_pos")[0][0]
        replica.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)", "RESET MASTER")
        replica.sql(f"SET GLOBAL gtid_slave_pos = '{place}'")
        replica.sql(
            f"CHANGE MASTER TO master_host = '127.0.0.1', master_port = {primary.port}, master_user = '{USER}',"
            f" master_password = '{PASSWORD}', master_use_gtid = slave_pos",
            "START SLAVE",
        )
        primary.sql("INSERT INTO a VALUES (2)")
        primary.sql("INSERT INTO a VALUES (3)")
        wait_until(lambda: len(replica.sql("SELECT * FROM a")) == 3)
        with world.running(database_port=str(replica.port)) as run:
            assert ops(run.until(2)) == [("c", 2), ("c", 3)]
            assert run.records[0].value["source"]["server_id"] == 7


def test_a_worker_that_is_killed_continues(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a SELECT seq FROM seq_1_to_40")
    config = {
        "connector.class": "io.debezium.connector.mariadb.MariaDbConnector",
        **world.config,
        "max.batch.size": "7",
        "transforms": "op",
        "transforms.op.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.op.field": "op",
    }
    with KafkaCluster(topics="dbs.shop.a") as cluster:
        test = ConnectorTest(cluster.bootstrap_servers)
        delivered = test.source(config, "dbs.shop.a", [b"r"] * 40, [Kill("poll", 3)])
        delivered.check()
        assert len(delivered.repeated) <= 3 * 7


def test_modes_of_snapshots(world: BinlogWorld) -> None:
    world.sql("RESET MASTER")
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    with world.running(snapshot_mode="never") as run:
        assert ops(run.until(1)) == [("c", 1)]
    for mode, expected in (("always", [("r", 1)]), ("initial_only", [("r", 1)])):
        world.offsets.stored = None if mode == "initial_only" else world.offsets.stored
        with world.running(snapshot_mode=mode) as run:
            assert ops(run.until(1)) == expected
            assert not run.poll()
    with world.running(snapshot_mode="initial_only") as run:
        assert not run.poll()
    world.offsets.stored = None
    with world.running(snapshot_mode="schema_only") as run:
        run.poll()
        world.sql("INSERT INTO a VALUES (2)")
        assert ops(run.until(1)) == [("c", 2)]


def test_prepared_transactions(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)")
    with world.running(snapshot_mode="no_data") as run:
        run.poll()
        world.sql("XA START 'x'", "INSERT INTO a VALUES (1)", "XA END 'x'", "XA PREPARE 'x'", "XA COMMIT 'x'")
        assert ops(run.until(1)) == [("c", 1)]
    world.sql("INSERT INTO a VALUES (2), (3)")
    with world.running() as run:
        run.poll()
        run.deliver(1)
        seen = ops(run.delivered)
    with world.running() as run:
        run.until(2 - len(seen))
        assert [*seen, *ops(run.delivered)] == [("c", 2), ("c", 3)]


def test_filters_skipped_operations_and_keys_of_the_config(world: BinlogWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY, code int NOT NULL, secret text)", "CREATE TABLE b (id int)")
    configs = {
        "table_include_list": "shop.a",
        "column_exclude_list": "shop.a.secret",
        "skipped_operations": "u",
        "message_key_columns": "shop.a:code",
        "tombstones_on_delete": "false",
        "snapshot_mode": "no_data",
    }
    with world.running(**configs) as run:
        run.poll()
        world.sql("INSERT INTO a VALUES (1, 11, 'x')", "INSERT INTO b VALUES (1)")
        world.sql("UPDATE a SET code = 12", "DELETE FROM a")
        records = run.until(2)
    assert ops(records) == [("c", 11), ("d", 12)]
    assert plain(records[0].value["after"]) == {"id": 1, "code": 11}
