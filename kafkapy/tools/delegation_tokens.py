"""kafka-delegation-tokens: create, renew, expire and describe delegation tokens (after Kafka's `DelegationTokenCommand`)."""

from __future__ import annotations

import base64
import binascii
import sys
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from kafkapy.tools.common.command_line import CommandLineError, OptionParser, Options, ToolOption, integer, run

if TYPE_CHECKING:
    from kafkapy.admin.client import AdminClient
    from kafkapy.security.delegation_tokens import DelegationToken
    from kafkapy.security.principal import KafkaPrincipal

_ACTIONS = ("create", "renew", "expire", "describe")
_ROW = "\n%-15s %-30s %-15s %-15s %-25s %-15s %-15s %-15s"
_MAX_LONG = 2**63 - 1


def long(text: str) -> int:
    """Parse a number as Java's `Long.parseLong`."""
    value = integer(text)
    if not -_MAX_LONG - 1 <= value <= _MAX_LONG:
        raise ValueError(text)
    return value


PARSER = OptionParser(
    "This tool helps to create, renew, expire, or describe delegation tokens.",
    ToolOption("bootstrap-server", "REQUIRED: the server(s) to connect to.", "host:port,host:port"),
    ToolOption(
        "command-config",
        "REQUIRED: A property file with configs for the admin client: how it authenticates. Tokens are given to "
        "authenticated clients only.",
        "property file",
    ),
    ToolOption("create", "Create a token. Who may renew it is said with --renewer-principal."),
    ToolOption("renew", "Renew a token, for the time of --renew-time-period."),
    ToolOption("expire", "Let a token expire after the time of --expiry-time-period."),
    ToolOption(
        "describe",
        "Describe the tokens of the owners or renewers of --owner-principal; without that, those of the user and those that "
        "the user may describe.",
    ),
    ToolOption("owner-principal", "The owner: a principal, as type:name.", "String", optional_argument=True),
    ToolOption("renewer-principal", "A renewer: a principal, as type:name.", "String", optional_argument=True),
    ToolOption(
        "max-life-time-period",
        "For how long the token may live, in ms; -1: as long as delegation.token.max.lifetime.ms of the brokers says.",
        "Long",
        long,
        optional_argument=True,
    ),
    ToolOption(
        "renew-time-period",
        "For how long the token is good from now on, in ms; -1: as long as delegation.token.expiry.time.ms of the brokers "
        "says.",
        "Long",
        long,
        optional_argument=True,
    ),
    ToolOption(
        "expiry-time-period",
        "For how long the token is still good, in ms; -1: it is removed at once.",
        "Long",
        long,
        optional_argument=True,
    ),
    ToolOption("hmac", "HMAC of the token.", "String", optional_argument=True),
)


def main(argv: Sequence[str] | None = None) -> int:
    return run(PARSER, execute, argv)


def execute(options: Options) -> None:
    from kafkapy.tools.common.admin_access import admin_client

    check_options(options)
    with admin_client(options, options.value("bootstrap-server")) as admin:
        for action, perform in zip(_ACTIONS, (_create, _renew, _expire, _describe), strict=True):
            if options.has(action):
                perform(admin, options)


def check_options(options: Options) -> None:
    """Check the options without a broker. Raises CommandLineError."""
    if options.count(_ACTIONS) != 1:
        raise CommandLineError("Command must include exactly one action: --create, --renew, --expire or --describe")
    options.require("bootstrap-server", "command-config")
    if options.has("create"):
        options.require("max-life-time-period")
    if options.has("renew"):
        options.require("hmac", "renew-time-period")
    if options.has("expire"):
        options.require("hmac", "expiry-time-period")
    periods = ("renew-time-period", "max-life-time-period", "expiry-time-period")
    options.exclude("create", ("hmac", "renew-time-period", "expiry-time-period"))
    options.exclude("renew", ("renewer-principal", "max-life-time-period", "expiry-time-period", "owner-principal"))
    options.exclude("expire", ("renew", "max-life-time-period", "renew-time-period", "owner-principal"))
    options.exclude("describe", ("hmac", *periods))


def _create(admin: AdminClient, options: Options) -> None:
    renewers, lifetime = _principals(options, "renewer-principal"), _required(options, "max-life-time-period")
    print(f"Calling create token operation with renewers :{_listed(renewers)} , max-life-time-period :{lifetime}")
    owners = _principals(options, "owner-principal")
    token = admin.create_delegation_token(renewers, owners[0] if owners else None, lifetime)
    print(f"Created delegation token with tokenId : {token.token_info.token_id}")
    print_tokens([token])


def _renew(admin: AdminClient, options: Options) -> None:
    text, period = _required(options, "hmac"), _required(options, "renew-time-period")
    hmac = _hmac(text)
    print(f"Calling renew token operation with hmac :{text} , renew-time-period :{period}")
    expiry = admin.renew_delegation_token(hmac, period)
    print(f"Completed renew operation. New expiry date : {_date(expiry)}")


def _expire(admin: AdminClient, options: Options) -> None:
    text, period = _required(options, "hmac"), _required(options, "expiry-time-period")
    hmac = _hmac(text)
    print(f"Calling expire token operation with hmac :{text} , expire-time-period :{period}")
    expiry = admin.expire_delegation_token(hmac, period)
    print(f"Completed expire operation. New expiry date : {_date(expiry)}")


def _describe(admin: AdminClient, options: Options) -> None:
    owners = _principals(options, "owner-principal")
    if owners:
        print(f"Calling describe token operation for owners: {_listed(owners)}")
    else:
        print("Calling describe token operation for current user.")
    # As in Kafka's tool, without an owner the tokens of all owners are requested.
    tokens = admin.describe_delegation_token(owners or None)
    print(f"Total number of tokens : {len(tokens)}", end="")
    print_tokens(tokens)


def print_tokens(tokens: Iterable[DelegationToken]) -> None:
    """Print the table in the format of Kafka's tool, with an empty line before each row."""
    print(_ROW % ("TOKENID", "HMAC", "OWNER", "REQUESTER", "RENEWERS", "ISSUEDATE", "EXPIRYDATE", "MAXDATE"))
    for token in tokens:
        info = token.token_info
        times = (_date(time) for time in (info.issue_timestamp, info.expiry_timestamp, info.max_timestamp))
        row = (info.token_id, token.hmac_as_base64, info.owner, info.token_requester, _listed(info.renewers), *times)
        print(_ROW % row)


def _required(options: Options, name: str) -> Any:
    """Kafka's options may be given without a value, but the actions need one."""
    value = options.value(name)
    if value is None:
        raise CommandLineError(f"Option {name} requires an argument")
    return value


def _hmac(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise CommandLineError("The value of option hmac is not in Base64") from None


def _principals(options: Options, name: str) -> list[KafkaPrincipal]:
    from kafkapy.security.principal import parse_principal

    try:
        return [parse_principal(text.strip()) for text in options.values(name)]
    except ValueError as error:
        raise CommandLineError(f"Option {name}: {error}") from None


def _listed(principals: Iterable[KafkaPrincipal]) -> str:
    return f"[{', '.join(map(str, principals))}]"


def _date(timestamp_ms: int) -> str:
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000).strftime("%Y-%m-%dT%H:%M")
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)  # beyond the year 9999


if __name__ == "__main__":
    sys.exit(main())
