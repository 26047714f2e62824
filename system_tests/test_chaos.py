"""Random faults against a cluster under load; `bin/run-system-tests.sh --chaos --seed N --faults 20 --brokers 1` runs it."""

from __future__ import annotations

import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from system_tests.cluster import Cluster
from system_tests.conftest import Note, Progress
from system_tests.faults import NotHere, inflict, sequence
from system_tests.services import ServiceError
from system_tests.workload import Workload


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_chaos(pytestconfig: pytest.Config, tmp_path: Path, note: Note, progress: Progress) -> None:
    """After each fault all producers and the group go on within a minute; after the last the cluster is healthy within a
    minute, and the history has no anomaly. What happened is in `report.txt`, beside the history and the services' logs."""
    seed, count = pytestconfig.getoption("--seed"), pytestconfig.getoption("--faults")
    brokers, clients = pytestconfig.getoption("--brokers"), pytestconfig.getoption("--clients")
    note("seed", seed)
    note("brokers", brokers)
    note("report", tmp_path / "report.txt")
    begin = time.monotonic()
    with ExitStack() as ending:
        report = ending.enter_context(open(tmp_path / "report.txt", "w"))
        cluster = ending.enter_context(Cluster(tmp_path, brokers))

        def tell(text: str) -> None:
            line = f"{time.monotonic() - begin:7.1f} s  {text}"
            progress(line)
            report.write(line + "\n")
            report.flush()

        cluster.start()
        work = Workload(cluster.bootstrap, "chaos", clients, clients, replication=min(brokers, 3))
        ending.callback(work.abandon)
        work.start()
        slowest = 0.0
        for number, fault in enumerate(sequence(seed, count, brokers), 1):
            tell(f"fault {number} of {count}: {fault}")
            try:
                whom = inflict(cluster, work, fault)
                recovery = work.wait_for_progress(30)
            except NotHere as error:
                tell(f"  left out: {error}")
                continue
            except ServiceError as error:
                tell(f"  {error}")
                raise
            slowest = max(slowest, recovery)
            tell(f"  {whom}; all went on {recovery:.1f} s after it; {work.acknowledged:,} records acknowledged")
        cluster.heal()
        healthy = cluster.wait_until_healthy()
        tell(f"healthy after {healthy:.1f} s; the group is settled after {work.wait_until_settled():.1f} s")
        verdict = work.finish()
        work.history.save(tmp_path / "history.jsonl")
        tell(str(verdict))
    note("faults", count)
    note("slowest recovery", f"{slowest:.1f} s")
    note("healthy after", f"{healthy:.1f} s")
    note("history", f"{verdict.acknowledged:,} acknowledged, {verdict.polled:,} polled")
    verdict.require_valid()
