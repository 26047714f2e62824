"""kafka-delegation-tokens: its options, and the table as Apache's tool prints it."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kafkapy.protocol.api_keys import ApiKey
from kafkapy.protocol.messages.create_delegation_token import CreateDelegationTokenResponse
from kafkapy.protocol.messages.describe_delegation_token import DescribeDelegationTokenResponse
from kafkapy.protocol.messages.expire_delegation_token import ExpireDelegationTokenResponse
from kafkapy.protocol.messages.renew_delegation_token import RenewDelegationTokenResponse
from kafkapy.tools import delegation_tokens
from tests.fake_broker import FakeBroker

ISSUED, EXPIRES, MAX = 1795231452443, 1795317852443, 1795836252443
HEADER = (
    "\nTOKENID         HMAC                           OWNER           REQUESTER       RENEWERS                  "
    "ISSUEDATE       EXPIRYDATE      MAXDATE        \n"
)
ROW = (
    "\nFHsm            c2VjcmV0                       User:alice      User:admin      [User:bob, User:carol]    "
    "2026-11-21T03:24 2026-11-22T03:24 2026-11-28T03:24\n"
)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.fixture
def broker() -> Iterator[FakeBroker]:
    with FakeBroker() as broker:
        yield broker


class Tool:
    def __init__(self, broker: FakeBroker, configs: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.broker = broker
        self.asked: list[Any] = []
        self._given = ["--bootstrap-server", broker.address, "--command-config", str(configs)]
        self._capsys = capsys

    def answers(self, api_key: ApiKey, response: Any) -> None:
        def handle(request: Any) -> Any:
            self.asked.append(request)
            return response

        self.broker.handlers[api_key] = handle

    def run(self, command: str, status: int = 0) -> str:
        """What it says on stdout, or on stderr if it fails."""
        assert delegation_tokens.main([*self._given, *command.split()]) == status
        printed = self._capsys.readouterr()
        return printed.err if status else printed.out


@pytest.fixture
def tool(broker: FakeBroker, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Tool:
    configs = tmp_path / "client.properties"
    configs.write_text("client.id=tokens\n")
    return Tool(broker, configs, capsys)


def test_create(tool: Tool) -> None:
    created = CreateDelegationTokenResponse(
        0, "User", "alice", "User", "admin", ISSUED, EXPIRES, MAX, "FHsm", b"secret"
    )
    tool.answers(ApiKey.CREATE_DELEGATION_TOKEN, created)
    assert tool.run(
        "--create --max-life-time-period -1 --renewer-principal User:bob --renewer-principal User:carol "
        "--owner-principal User:alice"
    ) == (
        "Calling create token operation with renewers :[User:bob, User:carol] , max-life-time-period :-1\n"
        f"Created delegation token with tokenId : FHsm\n{HEADER}{ROW}"
    )
    (request,) = tool.asked
    assert (request.max_lifetime_ms, request.owner_principal_name, len(request.renewers)) == (-1, "alice", 2)


def test_renew_and_expire(tool: Tool) -> None:
    tool.answers(ApiKey.RENEW_DELEGATION_TOKEN, RenewDelegationTokenResponse(0, EXPIRES))
    tool.answers(ApiKey.EXPIRE_DELEGATION_TOKEN, ExpireDelegationTokenResponse(0, ISSUED))
    assert tool.run("--renew --hmac c2VjcmV0 --renew-time-period 1000") == (
        "Calling renew token operation with hmac :c2VjcmV0 , renew-time-period :1000\n"
        "Completed renew operation. New expiry date : 2026-11-22T03:24\n"
    )
    assert tool.run("--expire --hmac c2VjcmV0 --expiry-time-period -1") == (
        "Calling expire token operation with hmac :c2VjcmV0 , expire-time-period :-1\n"
        "Completed expire operation. New expiry date : 2026-11-21T03:24\n"
    )
    renewal, expiry = tool.asked
    assert (renewal.hmac, renewal.renew_period_ms) == (b"secret", 1000)
    assert (expiry.hmac, expiry.expiry_time_period_ms) == (b"secret", -1)


def test_describe(tool: Tool) -> None:
    response = DescribeDelegationTokenResponse
    renewers = [response.DescribedDelegationTokenRenewer("User", name) for name in ("bob", "carol")]
    token = response.DescribedDelegationToken(
        "User", "alice", "User", "admin", ISSUED, EXPIRES, MAX, "FHsm", b"secret", renewers
    )
    tool.answers(ApiKey.DESCRIBE_DELEGATION_TOKEN, response(tokens=[token]))
    table = f"Total number of tokens : 1{HEADER}{ROW}"
    assert tool.run("--describe") == f"Calling describe token operation for current user.\n{table}"
    assert tool.run("--describe --owner-principal User:bob --owner-principal User:x") == (
        f"Calling describe token operation for owners: [User:bob, User:x]\n{table}"
    )
    assert tool.asked[0].owners is None
    assert [owner.principal_name for owner in tool.asked[1].owners] == ["bob", "x"]


def test_what_the_broker_refuses(tool: Tool) -> None:
    tool.answers(ApiKey.DESCRIBE_DELEGATION_TOKEN, DescribeDelegationTokenResponse(error_code=61))
    assert tool.run("--describe", 1) == "Delegation Token feature is not enabled.\n"


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("", "Command must include exactly one action: --create, --renew, --expire or --describe"),
        ("--create --describe", "Command must include exactly one action: --create, --renew, --expire or --describe"),
        ("--create", 'Missing required argument "[max-life-time-period]"'),
        ("--renew --hmac AAAA", 'Missing required argument "[renew-time-period]"'),
        ("--renew --renew-time-period 1", 'Missing required argument "[hmac]"'),
        ("--expire --hmac AAAA", 'Missing required argument "[expiry-time-period]"'),
        ("--create --max-life-time-period 1 --hmac A", 'Option "[create]" can\'t be used with option "[hmac]"'),
        ("--describe --hmac A", 'Option "[describe]" can\'t be used with option "[hmac]"'),
        (
            "--expire --hmac A --expiry-time-period 1 --owner-principal User:x",
            'Option "[expire]" can\'t be used with option "[owner-principal]"',
        ),
        ("--create --max-life-time-period", "Option max-life-time-period requires an argument"),
        ("--create --max-life-time-period x", "Cannot parse argument 'x' of option max-life-time-period"),
        (f"--create --max-life-time-period {2**63}", f"Cannot parse argument '{2**63}' of option max-life-time-period"),
        (
            "--create --max-life-time-period 1 --renewer-principal bob",
            "Option renewer-principal: expected a string in format principalType:principalName but got 'bob'",
        ),
        ("--renew --hmac A! --renew-time-period 1", "The value of option hmac is not in Base64"),
    ],
)
def test_refused_without_asking(tool: Tool, command: str, sentence: str) -> None:
    assert tool.run(command, 1) == f"{sentence}\n"


def test_both_servers_and_configs_are_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert delegation_tokens.main(["--describe", "--bootstrap-server", "b:1"]) == 1
    assert capsys.readouterr().err == 'Missing required argument "[command-config]"\n'
