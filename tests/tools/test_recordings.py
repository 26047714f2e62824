"""The tools print what Apache's print when the broker answers the same (see scenarios.py)."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.protocol.api_keys import ApiKey
from tests.tools.programs import main_of
from tests.tools.recording import ReplayBroker, load
from tests.tools.scenarios import SCENARIOS, Scenario

DATA = Path(__file__).parent / "data"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_output_is_apaches(scenario: Scenario, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [argument.format(dir=DATA) for argument in scenario.arguments]
    with ReplayBroker(load(DATA / "recordings" / f"{scenario.name}.responses")) as broker:
        status = main_of(scenario.tool)([*arguments, "--bootstrap-server", broker.address])
        port = str(broker.port)
    ours = capsys.readouterr()
    printed = ours.out.replace(port, "PORT")
    apaches = (DATA / "recordings" / f"{scenario.name}.out").read_text()
    assert status == (1 if scenario.error else 0), ours.err
    if scenario.error:
        # Apache's tools print their errors on stdout; ours on stderr, without the stack trace.
        assert scenario.error in ours.err.splitlines()
        assert "Traceback" not in ours.err
        assert set(printed.split()) <= set(apaches.split())
    elif scenario.quirk:
        assert sorted(printed.split()) == sorted(apaches.split())
    else:
        # The order of rows that come out of a Java HashMap is not kept, nor are blank lines at the end.
        assert sorted(printed.rstrip().splitlines()) == sorted(apaches.rstrip().splitlines())
    # A coordinator that was found is remembered.
    left = [exchange for exchange in broker.left if exchange.api_key != ApiKey.FIND_COORDINATOR]
    assert not left or scenario.error, "not everything that was recorded was asked for"
