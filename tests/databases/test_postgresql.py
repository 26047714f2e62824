"""The private PostgreSQL keeps its data when it is stopped and killed."""

from __future__ import annotations

import pytest

from tests.databases.postgresql import PostgresqlServer


@pytest.mark.integration
def test_data_outlive_stop_and_kill() -> None:
    psycopg2 = pytest.importorskip("psycopg2")
    with PostgresqlServer.private() as server:

        def run(*statements: str) -> list[tuple[int, ...]]:
            connection = psycopg2.connect(server.dsn)
            try:
                with connection, connection.cursor() as cursor:
                    for statement in statements:
                        cursor.execute(statement)
                    return list(cursor.fetchall()) if cursor.description else []
            finally:
                connection.close()

        run("CREATE TABLE kept (id int PRIMARY KEY)", "INSERT INTO kept VALUES (1)")
        server.restart()
        run("INSERT INTO kept VALUES (2)")
        server.kill()
        assert not server.is_running
        server.start()
        assert run("SELECT id FROM kept ORDER BY id") == [(1,), (2,)]
        assert run("SELECT count(*)::int FROM pg_settings WHERE name = 'wal_level' AND setting = 'logical'") == [(1,)]
