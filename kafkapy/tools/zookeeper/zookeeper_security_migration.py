"""zookeeper-security-migration: secure or open the znodes of a cluster (after Kafka's `ZkSecurityMigrator`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkapy.tools.common.command_line import (
    CommandLineError,
    OptionParser,
    Options,
    ToolError,
    ToolOption,
    integer,
    run,
)
from kafkapy.tools.zookeeper.tls import TLS_CONFIG_FILE, tool_security

if TYPE_CHECKING:
    from kafkapy.zk.acl_migration import AclMigration
    from kafkapy.zk.errors import ZooKeeperError

_CHOICES = {"secure": True, "unsecure": False}

PARSER = OptionParser(
    "ZooKeeper Migration Tool Help. This tool updates the ACLs of znodes as part of the process of setting up ZooKeeper "
    "authentication.",
    ToolOption(
        "zookeeper.acl",
        "Whether to make the znodes of Kafka in ZooKeeper secure or unsecure: 'secure' or 'unsecure'.",
        "String",
    ),
    ToolOption(
        "zookeeper.connect", "Where ZooKeeper is: host:port,host:port/chroot.", "String", default="localhost:2181"
    ),
    ToolOption("zookeeper.session.timeout", "The ZooKeeper session timeout, ms.", "Integer", integer, 30000),
    ToolOption("zookeeper.connection.timeout", "The ZooKeeper connection timeout, ms.", "Integer", integer, 30000),
    ToolOption(
        "enable.path.check", "Exit before anything is changed if one of the root paths does not exist in ZooKeeper."
    ),
    TLS_CONFIG_FILE,
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> int:
    from kafkapy.security.jaas_file import JAAS_FILE, java_properties
    from kafkapy.zk.acl_migration import AclMigration
    from kafkapy.zk.client_security import CLIENT_ENABLE, CLIENT_SOCKET, KEYSTORE_LOCATION
    from kafkapy.zk.errors import ZooKeeperError
    from kafkapy.zk.request_pipeline import RequestPipeline
    from kafkapy.zk.zookeeper_client import ZooKeeperClient

    security = tool_security(options.value("zk-tls-config-file"))
    jaas_file = java_properties().get(JAAS_FILE)
    if not security.is_authenticated:
        raise ToolError(
            "ERROR: No JAAS configuration file has been specified and no TLS client certificate has been specified. Please make "
            f"sure that you set the system property {JAAS_FILE} (KAFKA_OPTS=-D{JAAS_FILE}=FILE) or provide a ZooKeeper client "
            f"TLS configuration via --zk-tls-config-file <filename> identifying at least {CLIENT_ENABLE}, {CLIENT_SOCKET}, and "
            f"{KEYSTORE_LOCATION}"
            if jaas_file is None
            else f"ERROR: Security isn't enabled, most likely the file isn't set properly: {jaas_file}"
        )
    choice = options.value("zookeeper.acl")
    if choice not in _CHOICES:
        raise CommandLineError(
            f"--zookeeper.acl must be 'secure' or 'unsecure'{'' if choice is None else f', not {choice}'}"
        )
    connect = options.value("zookeeper.connect")
    client = ZooKeeperClient(connect.rstrip("/"), options.value("zookeeper.session.timeout"), security=security)
    try:
        client.start(options.value("zookeeper.connection.timeout"))
        return _migrate(
            AclMigration(RequestPipeline(client), _CHOICES[choice]), connect, options.has("enable.path.check")
        )
    except ZooKeeperError as error:
        raise ToolError(_sentence(error)) from None
    finally:
        client.close()


def _migrate(migration: AclMigration, connect: str, is_checked: bool) -> int:
    missing = migration.missing_roots()
    if missing:
        print(f"Warning: The following secure root paths do not exist in ZooKeeper: {','.join(missing)}")
        print("That might be due to an incorrect chroot is specified when executing the command.")
        if is_checked:
            print("Exit the command.")
            return 1
    if not migration.set_root():
        raise ToolError(f"{connect}: there is no such chroot, so there is nothing to migrate")
    migration.run()
    return 0


def _sentence(error: ZooKeeperError) -> str:
    from kafkapy.zk.errors import NoAuthError

    if isinstance(error, NoAuthError):
        return (
            f"{error.path}: its access list does not let this user change it: take its owner, or ZooKeeper's super user"
        )
    return str(error)


if __name__ == "__main__":
    sys.exit(main())
