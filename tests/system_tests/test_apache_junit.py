"""What is made of JUnit's reports on Apache's tests."""

from __future__ import annotations

from pathlib import Path

from system_tests.apache_tests.junit import Outcome, outcomes

REPORT = """<testsuite tests="6">
<testcase name="testA(String)[1]" classname="kafka.server.XTest"/>
<testcase name="testA(String)[2]" classname="kafka.server.XTest"><skipped/></testcase>
<testcase name="testB()" classname="kafka.server.XTest"><failure type="T" message="no"/></testcase>
<testcase name="testC()" classname="kafka.server.XTest"><error type="E"/></testcase>
<testcase name="testD()" classname="kafka.server.XTest"><failure type="T" message="threads during @AfterAll"/></testcase>
<testcase name="testE()" classname="kafka.server.XTest">
<failure type="T" message="threads during @AfterAll"/><error type="E" message="own"/>
</testcase>
</testsuite>"""


def test_outcomes(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    assert outcomes(report) == [
        Outcome("testA", None),
        Outcome("testB", "T: no"),
        Outcome("testC", "E: "),
        Outcome("testD", None),
        Outcome("testE", "E: own"),
    ]
