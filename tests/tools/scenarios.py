"""Command lines whose output is compared with that of Apache's tools.

`record.py` runs each of them with both tools against an Apache Kafka broker: what the broker answered ours and what
Apache's tool printed are kept in data/recordings. `test_recordings.py` plays the answers back.
"""

from __future__ import annotations

import shlex
from typing import NamedTuple

TOOLS = {
    "acls": "kafka.admin.AclCommand",
    "topics": "org.apache.kafka.tools.TopicCommand",
    "configs": "kafka.admin.ConfigCommand",
    "consumer_groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "get_offsets": "org.apache.kafka.tools.GetOffsetShell",
    "delete_records": "org.apache.kafka.tools.DeleteRecordsCommand",
    "log_dirs": "org.apache.kafka.tools.LogDirsCommand",
    "broker_api_versions": "kafka.admin.BrokerApiVersionsCommand",
    "cluster": "org.apache.kafka.tools.ClusterTool",
    "reassign_partitions": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "leader_election": "org.apache.kafka.tools.LeaderElectionCommand",
}


class Scenario(NamedTuple):
    """One command line; `{dir}` in it is the directory with the input files."""

    name: str
    tool: str
    command: str
    error: str = ""
    """What the tool says on stderr when it fails; "" if it does not."""
    before: tuple[tuple[str, str], ...] = ()
    """Tool and command that bring the cluster into the same state before each run."""
    quirk: str = ""
    """Why Apache's output is only compared word by word: rows without line ends."""

    @property
    def arguments(self) -> list[str]:
        return shlex.split(self.command)


def _topics(name: str, command: str, error: str = "", before: str = "") -> Scenario:
    sentence = f"Error while executing topic command : {error}" if error else ""
    return Scenario(f"topics-{name}", "topics", command, sentence, (("topics", before),) if before else ())


def _configs(name: str, command: str, error: str = "", before: str = "") -> Scenario:
    return Scenario(f"configs-{name}", "configs", command, error, (("configs", before),) if before else ())


def _groups(name: str, command: str, error: str = "", before: str = "", quirk: str = "") -> Scenario:
    return Scenario(
        f"groups-{name}", "consumer_groups", command, error, (("consumer_groups", before),) if before else (), quirk
    )


def _offsets(name: str, command: str, error: str = "") -> Scenario:
    return Scenario(f"offsets-{name}", "get_offsets", command, f"Error occurred: {error}" if error else "")


def _reassign(name: str, command: str, error: str = "") -> Scenario:
    return Scenario(f"reassign-{name}", "reassign_partitions", command, error)


def _election(name: str, command: str, error: str = "") -> Scenario:
    return Scenario(f"election-{name}", "leader_election", command, error)


def _acls(name: str, command: str, error: str = "", before: str = "") -> Scenario:
    sentence = f"Error while executing ACL command: {error}" if error else ""
    return Scenario(f"acls-{name}", "acls", command, sentence, (("acls", before),) if before else (), _HASH_ORDER)


_HASH_ORDER = "entries of a pattern come out of a hash set, and the last of them has a space behind it"
_ADD_ZOE = (
    "--add --allow-principal User:zoe --allow-principal User:bob --operation Read --operation Write --topic acl-t"
)
_ADD_PREFIX = "--add --deny-principal User:eve --topic acl- --resource-pattern-type prefixed"
_FORGET_NEW = "--delete --if-exists --topic new"
_MAKE_NEW = (("topics", _FORGET_NEW), ("topics", "--create --topic new --partitions 1"))
_RESET_G1 = "--reset-offsets --group g1 --topic s.a --to-latest --execute"
_NO_PRINCIPAL = "expected a string in format principalType:principalName but got"
_JAVA = "org.apache.kafka.common.errors"
_IMPOSSIBLE = f"{_JAVA}.InvalidRequestException: Failed to create ACL"
_NO_LINE_ENDS = "Apache's tool writes the rows of this table without line ends"

SCENARIOS = [
    _topics("list", "--list"),
    _topics("list-without-internal", "--list --exclude-internal"),
    _topics("describe", "--describe --topic s.a"),
    _topics("describe-with-overrides", "--describe --topics-with-overrides --exclude-internal"),
    _topics("describe-under-replicated", "--describe --under-replicated-partitions"),
    _topics("describe-at-min-isr", "--describe --at-min-isr-partitions --topic s.a"),
    _topics("describe-under-min-isr", "--describe --under-min-isr-partitions"),
    _topics("describe-unavailable", "--describe --unavailable-partitions"),
    _topics(
        "create", "--create --topic new --partitions 2 --replication-factor 1 --config retention.ms=5", "", _FORGET_NEW
    ),
    _topics("create-with-assignment", "--create --topic new --replica-assignment 0,0,0", "", _FORGET_NEW),
    _topics("create-collision-warning", "--create --if-not-exists --topic s.a"),
    _topics("create-existing", "--create --topic s.a --partitions 3", "Topic 's.a' already exists."),
    _topics("create-existing-if-not-exists", "--create --if-not-exists --topic s-b"),
    _topics(
        "create-too-many-replicas",
        "--create --topic u --replication-factor 50",
        "Replication factor: 50 larger than available brokers: 1.",
    ),
    _topics("create-unknown-config", "--create --topic u --config foo=bar", "Unknown topic config name: foo"),
    _topics(
        "create-invalid-config",
        "--create --topic u --config retention.ms=x",
        "Invalid value x for configuration retention.ms: Not a number of type LONG",
    ),
    _topics(
        "create-invalid-name",
        "--create --topic 'a b'",
        "Topic name is invalid: 'a b' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'",
    ),
    _topics(
        "alter-fewer",
        "--alter --topic s.a --partitions 2",
        "Topic currently has 3 partitions, which is higher than the requested 2.",
    ),
    Scenario("topics-alter", "topics", "--alter --topic new --partitions 5", "", _MAKE_NEW),
    Scenario("topics-delete", "topics", "--delete --topic new", "", _MAKE_NEW),
    _topics("delete-if-exists", "--delete --topic nothing --if-exists"),
    _configs("describe-topic", "--describe --topic s.a"),
    _configs("describe-topic-all", "--describe --all --entity-type topics --entity-name s.a"),
    _configs("describe-topics", "--describe --entity-type topics"),
    _configs("describe-broker", "--describe --broker 0"),
    _configs("describe-brokers", "--describe --entity-type brokers"),
    _configs("alter-topic", "--alter --topic s-b --add-config cleanup.policy=[compact,delete],max.message.bytes=70000"),
    _configs(
        "alter-topic-delete",
        "--alter --topic s-b --delete-config max.message.bytes",
        "",
        "--alter --topic s-b --add-config max.message.bytes=1",
    ),
    _configs("alter-topic-delete-unknown", "--alter --topic s-b --delete-config zzz", "Invalid config(s): zzz"),
    _configs("alter-broker", "--alter --broker 0 --add-config follower.replication.throttled.rate=99999999"),
    _configs("alter-broker-defaults", "--alter --broker-defaults --add-config log.cleaner.threads=2"),
    _configs("alter-client", "--alter --client c1 --add-config producer_byte_rate=1048576"),
    _configs(
        "describe-client", "--describe --client c1", "", "--alter --client c1 --add-config producer_byte_rate=1048576"
    ),
    _configs(
        "alter-user-client",
        "--alter --entity-type users --entity-name u1 --entity-type clients --entity-default "
        "--add-config request_percentage=12.5",
    ),
    _configs("describe-users-clients", "--describe --entity-type users --entity-type clients"),
    _configs("alter-scram", "--alter --user u1 --add-config 'SCRAM-SHA-512=[iterations=8192,password=pw]'"),
    _configs("describe-user", "--describe --user u1"),
    _configs("alter-ip", "--alter --ip 127.0.0.1 --add-config connection_creation_rate=10"),
    _configs("describe-ips", "--describe --entity-type ips"),
    _acls("add", "--add --allow-principal User:zoe --operation Read --topic acl-t --group '*'"),
    _acls("add-prefixed", f"{_ADD_PREFIX} --deny-host 10.0.0.1 --deny-host 10.0.0.2"),
    _acls(
        "add-cluster", "--add --allow-principal User:zoe --allow-host 10.0.0.3 --operation describeconfigs --cluster"
    ),
    _acls(
        "add-producer",
        "--add --allow-principal User:zoe --producer --topic acl-t --idempotent --transactional-id acl-x",
    ),
    _acls("add-consumer", "--add --allow-principal User:zoe --consumer --producer --topic acl-t --group acl-g"),
    _acls("add-user", "--add --allow-principal User:zoe --user-principal User:bob --operation CreateTokens"),
    _acls(
        "add-impossible",
        "--add --allow-principal User:zoe --topic a/b",
        f"{_JAVA}.InvalidRequestException: Failed to create ACL",
    ),
    _acls("add-no-principal", "--add --allow-principal zoe --topic acl-t", f"{_NO_PRINCIPAL} zoe"),
    _acls("list", "--list"),
    _acls("list-topic", "--list --topic acl-t", "", _ADD_ZOE),
    _acls("list-any", "--list --topic acl-t --resource-pattern-type any", "", _ADD_PREFIX),
    _acls("list-match", "--list --topic acl-t --resource-pattern-type match --group none", "", _ADD_PREFIX),
    _acls("list-principals", "--list --principal User:zoe --principal User:bob --principal User:none", "", _ADD_ZOE),
    _acls("remove", "--remove --force --topic acl-t --allow-principal User:zoe --operation Read", "", _ADD_ZOE),
    _acls("remove-match", "--remove --force --topic acl-t --resource-pattern-type match", "", _ADD_PREFIX),
    _groups("list", "--list"),
    _groups("list-states", "--list --state"),
    _groups("list-states-and-types", "--list --state --type"),
    _groups("list-empty", "--list --state empty"),
    _groups("describe-active", "--describe --group active"),
    _groups("describe-members", "--describe --group active --members"),
    _groups("describe-members-verbose", "--describe --group active --members --verbose"),
    _groups("describe-state", "--describe --group active --state"),
    _groups("describe-empty", "--describe --group g1", "", _RESET_G1),
    _groups("describe-unknown", "--describe --group nothing", "Error: Consumer group 'nothing' does not exist."),
    _groups(
        "delete-unknown",
        "--delete --group nothing",
        f"* Group 'nothing' could not be deleted due to: {_JAVA}.GroupIdNotFoundException: The group id does not exist.",
    ),
    _groups(
        "delete-active",
        "--delete --group active",
        f"* Group 'active' could not be deleted due to: {_JAVA}.GroupNotEmptyException: The group is not empty.",
    ),
    _groups("delete", "--delete --group g2", "", "--reset-offsets --group g2 --topic s-b --to-latest --execute"),
    _groups("reset-to-earliest", "--reset-offsets --group g1 --topic s.a --to-earliest --dry-run", quirk=_NO_LINE_ENDS),
    _groups(
        "reset-to-offset", "--reset-offsets --group g1 --topic s.a:0,1 --to-offset 99 --dry-run", quirk=_NO_LINE_ENDS
    ),
    _groups(
        "reset-shift-by",
        "--reset-offsets --group g1 --topic s.a:0 --shift-by -5 --execute",
        "",
        _RESET_G1,
        _NO_LINE_ENDS,
    ),
    _groups(
        "reset-to-current",
        "--reset-offsets --group g1 --all-topics --to-current --dry-run",
        "",
        _RESET_G1,
        _NO_LINE_ENDS,
    ),
    _groups(
        "reset-to-datetime",
        "--reset-offsets --group g1 --topic s.a --to-datetime 2020-01-01T00:00:00.000+01:00 --dry-run",
        quirk=_NO_LINE_ENDS,
    ),
    _groups("reset-export", "--reset-offsets --group g1 --topic s.a --to-latest --export --dry-run"),
    _groups(
        "reset-active",
        "--reset-offsets --group active --topic s.a --to-earliest --execute",
        "Error: Assignments can only be reset if the group 'active' is inactive, but the current state is Stable.",
    ),
    _groups("delete-offsets", "--delete-offsets --group g1 --topic s.a:0 --topic s-b", "", _RESET_G1, _NO_LINE_ENDS),
    _groups(
        "delete-offsets-unknown-group",
        "--delete-offsets --group nothing --topic s.a:0",
        "Error: 'nothing' does not exist.",
        "",
        _NO_LINE_ENDS,
    ),
    _offsets("latest", "--exclude-internal-topics"),
    _offsets("earliest", "--topic s.a --time -2"),
    _offsets("max-timestamp", "--topic-partitions s.a:0-2,s-b --time max-timestamp"),
    _offsets("unknown-topic", "--topic nothing", "Could not match any topic-partitions with the specified filters"),
    Scenario("delete-records", "delete_records", "--offset-json-file {dir}/delete-records.json"),
    Scenario("log-dirs", "log_dirs", "--describe --topic-list s-b --broker-list 0"),
    Scenario(
        "log-dirs-unknown-broker",
        "log_dirs",
        "--describe --broker-list 0,7",
        "ERROR: The given brokers do not exist from --broker-list: 7. Current existent brokers: 0",
    ),
    Scenario("broker-api-versions", "broker_api_versions", ""),
    Scenario("cluster-id", "cluster", "cluster-id"),
    _reassign("list", "--list"),
    _reassign("generate", "--generate --topics-to-move-json-file {dir}/topics-to-move.json --broker-list 0,7"),
    _reassign("execute", "--execute --reassignment-json-file {dir}/reassignment-in-place.json --throttle 5000"),
    _reassign("verify", "--verify --reassignment-json-file {dir}/reassignment.json"),
    _reassign(
        "verify-elsewhere", "--verify --preserve-throttles --reassignment-json-file {dir}/reassignment-elsewhere.json"
    ),
    _reassign(
        "execute-unknown-broker",
        "--execute --reassignment-json-file {dir}/reassignment-elsewhere.json",
        "Error: Unknown broker id 7",
    ),
    _election("needless", "--election-type preferred --path-to-json-file {dir}/election.json"),
    _election("all", "--election-type unclean --all-topic-partitions"),
    _election(
        "unknown",
        "--election-type preferred --topic nothing --partition 0",
        "1 replica(s) could not be elected",
    ),
]
