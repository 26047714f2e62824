"""kafka-broker-api-versions: the API versions that each broker supports (after Kafka's `BrokerApiVersionsCommand`)."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kafkapy.tools.common.command_line import BOOTSTRAP_SERVER, COMMAND_CONFIG, OptionParser, Options, run

if TYPE_CHECKING:
    from kafkapy.clients.api_versions import NodeApiVersions
    from kafkapy.protocol.api_keys import ApiKey

PARSER = OptionParser("This tool helps to retrieve broker version information.", BOOTSTRAP_SERVER, COMMAND_CONFIG)


OTHER_APIS = {
    55: "DescribeQuorum",
    64: "UnregisterBroker",
    71: "GetTelemetrySubscriptions",
    72: "PushTelemetry",
    74: "ListClientMetricsResources",
    75: "DescribeTopicPartitions",
    76: "ShareGroupHeartbeat",
    77: "ShareGroupDescribe",
    78: "ShareFetch",
    79: "ShareAcknowledge",
    80: "AddRaftVoter",
    81: "RemoveRaftVoter",
    83: "InitializeShareGroupState",
    84: "ReadShareGroupState",
    85: "WriteShareGroupState",
    86: "DeleteShareGroupState",
    87: "ReadShareGroupStateSummary",
}
"""APIs of brokers without ZooKeeper: this client does not use them, but shows their names, as Kafka's 3.9 does."""


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> None:
    from kafkapy.protocol.errors import KafkaError
    from kafkapy.tools.common.admin_access import admin_client, exception_text

    options.require("bootstrap-server")
    with admin_client(options, options.value("bootstrap-server")) as admin:
        for node, versions in admin.api_versions().items():
            if isinstance(versions, KafkaError):
                print(f"{node} -> ERROR: {exception_text(versions)}")
            else:
                print(f"{node} -> {format_versions(versions)}")


def format_versions(versions: NodeApiVersions) -> str:
    """One line for each API that the broker or this tool knows, in order of their keys."""
    from kafkapy.protocol.api_keys import ApiKey

    known = {int(key): key for key in ApiKey}
    names = OTHER_APIS | {int(key): key.title for key in ApiKey}
    lines = [
        f"\t{names.get(key, 'UNKNOWN')}({key}): {_range(versions, known.get(key), key)}"
        for key in sorted(names.keys() | versions.ranges.keys())
    ]
    return "(\n" + ",\n".join(lines) + "\n)"


def _range(versions: NodeApiVersions, api_key: ApiKey | None, key: int) -> str:
    if key not in versions.ranges:
        return "UNSUPPORTED"
    lowest, highest = versions.ranges[key]
    served = str(lowest) if lowest == highest else f"{lowest} to {highest}"
    if api_key is None:
        return served
    usable = versions.latest_usable(api_key) if versions.supports(api_key) else "none"
    return f"{served} [usable: {usable}]"


if __name__ == "__main__":
    sys.exit(main())
