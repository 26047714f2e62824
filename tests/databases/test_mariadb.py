"""The private MariaDB keeps its data when it is stopped and killed."""

from __future__ import annotations

import pytest

from tests.databases.mariadb import MariadbServer


@pytest.mark.integration
def test_data_outlive_stop_and_kill() -> None:
    with MariadbServer.private() as server:
        server.sql("CREATE TABLE kept (id int PRIMARY KEY)", "INSERT INTO kept VALUES (1)")
        server.restart()
        server.sql("INSERT INTO kept VALUES (2)")
        server.kill()
        assert not server.is_running
        server.start()
        assert server.sql("SELECT id FROM kept ORDER BY id") == [(1,), (2,)]
        assert server.sql("SELECT @@log_bin, @@binlog_format, @@binlog_row_metadata") == [(1, "ROW", "FULL")]
