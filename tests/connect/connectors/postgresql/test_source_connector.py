"""The PostgreSQL connector against a real server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("psycopg2")

from kafkapy.connect.errors import ConnectException
from kafkapy.connect.testing import ConnectorTest, Kill
from kafkapy.testing import KafkaCluster
from tests.connect.connectors.postgresql.captured import CaptureWorld, header, ops, plain, position
from tests.databases.postgresql import PostgresqlServer
from tests.waiting import wait_until

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresqlServer]:
    with PostgresqlServer.private() as server:
        yield server


@pytest.fixture
def world(server: PostgresqlServer) -> Iterator[CaptureWorld]:
    world = CaptureWorld(server)
    yield world
    world.clean()


def test_snapshot_then_changes(world: CaptureWorld) -> None:
    world.sql(
        "CREATE TABLE a (id int PRIMARY KEY, name text)", "INSERT INTO a VALUES (1, 'one'), (2, 'two'), (3, NULL)"
    )
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
        assert records[1].value["before"] is None
        assert plain(records[2].value["before"]) == {"id": 1, "name": None}
        assert {r.topic for r in records} == {"shop.public.a"}


def test_a_changed_key_is_delete_tombstone_and_create(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY, name text NOT NULL)", "INSERT INTO a VALUES (1, 'one')")
    with world.running() as run:
        run.until(1)
        world.sql("UPDATE a SET id = 9")
        deleted, tombstone, created = run.until(4)[1:]
    assert ops([deleted, tombstone, created]) == [("d", 1), (None, 1), ("c", 9)]
    assert plain(header(deleted, "__debezium.newkey")) == {"id": 9}
    assert plain(header(created, "__debezium.oldkey")) == {"id": 1}
    assert plain(deleted.value["before"]) == {"id": 1, "name": ""}


def test_truncate_and_messages(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    with world.running(skipped_operations="none", provide_transaction_metadata="true") as run:
        run.until(1)
        world.sql("TRUNCATE a, b", "SELECT pg_logical_emit_message(true, 'note', 'text')")
        records = run.until(6)[1:]
    assert [r.topic for r in records] == [
        "shop.transaction",
        "shop.public.a",
        "shop.public.b",
        "shop.message",
        "shop.transaction",
    ]
    begin, first, _, message, end = records
    assert ops([first]) == [("t", None)]
    assert plain(message.value["message"]) == {"prefix": "note", "content": b"text"}
    assert [begin.value["status"], end.value["status"], end.value["event_count"]] == ["BEGIN", "END", 3]
    assert message.value["transaction"]["total_order"] == 3


TYPES = {
    "small": ("int2", "7"),
    "flag": ("bool", "true"),
    "amount": ("numeric(10,2)", "'12.5'"),
    "free": ("numeric", "'1.50'"),
    "ratio": ("float4", "0.1"),
    "exact": ("float8", "0.1"),
    "fixed": ("char(5)", "'ab'"),
    "data": ("bytea", "'\\x00ff'"),
    "uid": ("uuid", "'123e4567-e89b-12d3-a456-426614174000'"),
    "doc": ("jsonb", """'{"a": 1}'"""),
    "day": ("date", "'2024-02-29'"),
    "old": ("date", "'0044-03-15 BC'"),
    "clock": ("time", "'12:34:56.789'"),
    "zoned_clock": ("timetz", "'12:00:00+02'"),
    "moment": ("timestamp", "'2024-02-29 12:34:56.789012'"),
    "short_moment": ("timestamp(3)", "'2024-02-29 12:34:56.789'"),
    "end_of_time": ("timestamp", "'infinity'"),
    "zoned": ("timestamptz", "'2024-02-29 12:34:56.5+02'"),
    "span": ("interval", "'1 year 2 mons 3 days 04:05:06.5'"),
    "mood": ("mood", "'so so'"),
    "address": ("inet", "'10.0.0.1/8'"),
    "span_of": ("int4range", "'[1,5)'"),
    "words": ("text[]", """ARRAY['a', NULL, 'b,"c"']"""),
    "numbers": ("int[]", "'{{1,2},{3,4}}'"),
    "amounts": ("numeric(5,1)[]", "'{1.5,NULL}'"),
    "place": ("point", "'(1,2.5)'"),
    "bits": ("bit(9)", "B'100000001'"),
    "one_bit": ("bit", "B'1'"),
    "price": ("money", "'-1234.5'"),
    "positive": ("positive", "5"),
    "nothing": ("text", "NULL"),
}


def test_a_snapshot_and_the_stream_have_the_same_values(world: CaptureWorld) -> None:
    columns = ", ".join(f"{name} {kind}" for name, (kind, _) in TYPES.items())
    row = ", ".join(value for _, value in TYPES.values())
    world.sql("CREATE TYPE mood AS ENUM ('good', 'so so')", "CREATE DOMAIN positive AS int CHECK (value > 0)")
    world.sql(f"CREATE TABLE a (id int PRIMARY KEY, {columns})", f"INSERT INTO a VALUES (1, {row})")
    with world.running() as run:
        run.until(1)
        world.sql(f"INSERT INTO a VALUES (2, {row})")
        read, created = (record.value["after"] for record in run.until(2))
    assert read.schema == created.schema
    values, streamed = plain(read), plain(created)
    assert values is not None and streamed is not None
    assert {**values, "id": 2} == streamed
    assert (values["zoned"], values["zoned_clock"]) == ("2024-02-29T10:34:56.500000Z", "10:00:00Z")
    assert (values["moment"], values["short_moment"]) == (1709210096789012, 1709210096789)
    assert values["end_of_time"] == 9223372036825200000
    assert (values["words"], values["numbers"]) == (["a", None, 'b,"c"'], [1, 2, 3, 4])
    assert (str(values["amount"]), str(values["price"]), values["fixed"]) == ("12.50", "-1234.50", "ab   ")
    assert read.schema.field("mood").schema.parameters == {"allowed": "good,so so"}


@pytest.mark.parametrize("is_full", [False, True])
def test_large_values_that_an_update_leaves_alone(world: CaptureWorld, is_full: bool) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY, name text, large text, many text[])")
    world.sql("ALTER TABLE a ALTER large SET STORAGE EXTERNAL, ALTER many SET STORAGE EXTERNAL")
    world.sql(f"ALTER TABLE a REPLICA IDENTITY {'FULL' if is_full else 'DEFAULT'}")
    large, many = "x" * 5000, ["y" * 3000] * 2
    world.sql(f"INSERT INTO a VALUES (1, 'one', '{large}', '{{{','.join(many)}}}')")
    with world.running() as run:
        run.until(1)
        world.sql("UPDATE a SET name = 'eins'")
        after = plain(run.until(2)[1].value["after"])
    hidden = "__debezium_unavailable_value"
    assert after == {
        "id": 1,
        "name": "eins",
        "large": large if is_full else hidden,
        "many": many if is_full else [hidden],
    }


def test_a_broken_snapshot_continues(world: CaptureWorld) -> None:
    world.sql(
        "CREATE TABLE a (x int, y text, PRIMARY KEY (y, x))",
        "CREATE TABLE b (id int)",
        "CREATE TABLE c (id int PRIMARY KEY)",
    )
    world.sql("INSERT INTO a SELECT n % 3, 'k' || n / 3 FROM generate_series(0, 8) n", "INSERT INTO b VALUES (1), (2)")
    world.sql("INSERT INTO c VALUES (1)")
    with world.running(max_batch_size="4") as run:
        run.poll()
        run.deliver(4)
        first = ops(run.records)
    world.sql("DELETE FROM a WHERE y = 'k2'", "UPDATE a SET x = 7 WHERE y = 'k1' AND x = 2")
    with world.running() as run:
        records = run.until(12)
    assert first == [("r", ("k0", 0)), ("r", ("k0", 1)), ("r", ("k0", 2)), ("r", ("k1", 0))]
    assert ops(records)[:5] == [("r", ("k1", 1)), ("r", ("k1", 7)), ("r", None), ("r", None), ("r", 1)]
    assert (
        ops(records)[5:]
        == [
            *[pair for x in range(3) for pair in (("d", ("k2", x)), (None, ("k2", x)))],
            *(("d", ("k1", 2)), (None, ("k1", 2)), ("c", ("k1", 7))),
        ][: len(records) - 5]
    )


def test_a_restart_in_a_transaction_repeats_and_loses_nothing(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (0)")
    with world.running() as run:
        run.until(1)
        # A multi-row insert of COPY has many rows at one place of the log.
        world.sql("COPY a FROM PROGRAM 'seq 1 50'", "INSERT INTO a VALUES (51)")
        while len(run.records) < 52:
            run.poll()
        run.deliver(30)
    with world.running() as run:
        run.until(51 - 30)
        world.sql("INSERT INTO a VALUES (52)")
        records = run.until(52 - 30)
    assert ops(records) == [("c", number) for number in range(31, 53)]


def test_the_slot_moves_only_when_offsets_are_committed(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (0)")
    with world.running(status_update_interval_ms="1") as run:
        run.until(1)
        wait_until(lambda: run.poll() is not None and run.is_streaming)
        start = world.slot_lsn()
        world.sql("INSERT INTO a VALUES (1)")
        wait_until(lambda: bool(run.poll()))
        for _ in range(5):
            run.poll()
        assert world.slot_lsn() <= position(run.records[-1])
        run.deliver()
        wait_until(lambda: run.poll() is not None and world.slot_lsn() > position(run.records[-1]))
        assert world.slot_lsn() > start


def test_a_quiet_table_beside_a_busy_one_lets_the_slot_move(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE quiet (id int PRIMARY KEY)", "CREATE TABLE busy (id int)", "INSERT INTO quiet VALUES (0)")
    with world.running(table_include_list="public.quiet", publication_autocreate_mode="filtered") as run:
        run.until(1)
        for _ in range(3):
            world.sql("INSERT INTO busy SELECT generate_series(1, 1000)")
            written = int(world.sql("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")[0][0])
            while world.slot_lsn() < written:
                run.poll()
        assert len(run.records) == 1


def test_a_killed_server_is_tried_again(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (0)")
    with world.running() as run:
        run.until(1)
        world.sql("INSERT INTO a VALUES (1), (2)")
        run.until(3)
        world.server.kill()
        for _ in range(3):
            assert not run.poll()
        world.server.start()
        world.sql("INSERT INTO a VALUES (3)")
        assert ops(run.until(4)) == [("r", 0), ("c", 1), ("c", 2), ("c", 3)]


def test_columns_come_and_go(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY, x int)", "INSERT INTO a VALUES (1, 1)")
    with world.running() as run:
        run.until(1)
        world.sql("ALTER TABLE a ADD y text", "INSERT INTO a VALUES (2, 2, 'two')", "ALTER TABLE a DROP x")
        world.sql(
            "INSERT INTO a VALUES (3, 'three')", "ALTER TABLE a ALTER y TYPE varchar(9)", "ALTER TABLE a RENAME y TO z"
        )
        world.sql("INSERT INTO a VALUES (4, 'four')")
        rows = [plain(record.value["after"]) for record in run.until(4)]
    assert rows == [{"id": 1, "x": 1}, {"id": 2, "x": 2, "y": "two"}, {"id": 3, "y": "three"}, {"id": 4, "z": "four"}]


def test_a_lost_slot_is_an_error_or_a_new_snapshot(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    with world.running(slot_drop_on_stop="true") as run:
        run.until(1)
    with (
        world.running() as run,
        pytest.raises(ConnectException, match=r"slot shop is gone.*snapshot\.mode=when_needed"),
    ):
        run.poll()
    with world.running(snapshot_mode="when_needed") as run:
        assert ops(run.until(1)) == [("r", 1)]


def test_the_index_of_the_replica_identity_is_the_key(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY, code text NOT NULL UNIQUE)", "INSERT INTO a VALUES (1, 'x')")
    world.sql("ALTER TABLE a REPLICA IDENTITY USING INDEX a_code_key")
    with world.running() as run:
        run.until(1)
        world.sql("UPDATE a SET id = 2", "DELETE FROM a")
        assert ops(run.until(4)) == [("r", "x"), ("u", "x"), ("d", "x"), (None, "x")]


def test_heartbeats_and_their_query(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)", "CREATE TABLE beats (id serial)")
    query = "INSERT INTO beats DEFAULT VALUES"
    with world.running(heartbeat_interval_ms="1", heartbeat_action_query=query, table_include_list="public.a") as run:
        wait_until(lambda: run.poll() is not None and any("heartbeat" in str(r.topic) for r in run.records))
    (beat,) = [r for r in run.records if r.topic == "__debezium-heartbeat.shop"][:1]
    assert plain(beat.key) == {"serverName": "shop"}
    assert world.sql("SELECT count(*) FROM beats")[0][0] > 0


def test_wrong_options_are_refused(world: CaptureWorld) -> None:
    for name, value in (("signal.data.collection", "a.b"), ("column.mask.hash.x", "y"), ("skipped.operations", "x")):
        with pytest.raises(ConnectException, match=name.split(".")[0]), world.running(**{name: value}):
            pass


def test_tables_are_only_read(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1), (2)")
    with world.running(snapshot_mode="initial_only") as run:
        assert ops(run.until(2)) == [("r", 1), ("r", 2)]
        run.poll()
    assert world.sql("SELECT slot_name FROM pg_replication_slots") == []
    with world.running(snapshot_mode="initial_only") as run:
        assert run.poll() == []


def test_changes_without_a_snapshot(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    with world.running(snapshot_mode="never") as run:
        run.poll()
        world.sql("INSERT INTO a VALUES (2)")
        assert ops(run.until(1)) == [("c", 2)]


def test_a_worker_that_is_killed_continues(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a SELECT generate_series(1, 40)")
    config = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        **world.config,
        "max.batch.size": "7",
        "transforms": "op",
        "transforms.op.type": "org.apache.kafka.connect.transforms.ExtractField$Value",
        "transforms.op.field": "op",
    }
    with KafkaCluster(topics="shop.public.a") as cluster:
        test = ConnectorTest(cluster.bootstrap_servers)
        delivered = test.source(config, "shop.public.a", [b"r"] * 40, [Kill("poll", 3)])
        delivered.check()
        assert len(delivered.repeated) <= 3 * 7


def test_a_large_key_is_known_where_it_did_not_change(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id text PRIMARY KEY, n int)", "ALTER TABLE a ALTER id SET STORAGE EXTERNAL")
    key = "k" * 2500
    world.sql(f"INSERT INTO a VALUES ('{key}', 1)")
    with world.running() as run:
        run.until(1)
        world.sql("UPDATE a SET n = 2")
        updated = run.until(2)[1]
    assert ops([updated]) == [("u", key)]
    assert plain(updated.value["after"]) == {"id": key, "n": 2}


def test_a_key_is_known_though_the_table_has_changed_since(world: CaptureWorld) -> None:
    world.sql("CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)", "INSERT INTO a VALUES (1)")
    with world.running() as run:
        run.until(1)
        world.sql(
            "INSERT INTO a VALUES (2)", "INSERT INTO b VALUES (3)", "ALTER TABLE a RENAME id TO key", "DROP TABLE b"
        )
        world.sql("INSERT INTO a VALUES (4)")
        records = run.until(4)[1:]
    assert [plain(record.key) for record in records] == [{"id": 2}, {"id": 3}, {"key": 4}]
