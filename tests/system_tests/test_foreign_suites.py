"""How a run of another library's tests is judged, and what it imports."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from system_tests.foreign_suites.__main__ import summarize
from system_tests.foreign_suites.known import kind_of

REPORT = """<testsuites><testsuite>
<testcase classname="test.a.test_x.TestX" name="test_1"/>
<testcase classname="test.a.test_x.TestX" name="test_2"><failure message="'KafkaConsumer' has no attribute '_net'"/></testcase>
<testcase classname="test.test_y" name="test_create_describe_delete_acls"><failure message="SecurityDisabledError"/></testcase>
<testcase classname="test.test_y" name="test_3"><skipped message=""/></testcase>
<testcase classname="test.test_y" name="test_4"><error message="assert 1 == 2"/></testcase>
</testsuite></testsuites>"""


def test_a_run_is_summed_up_by_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "report.xml").write_text(REPORT)
    assert summarize("kafka", tmp_path / "report.xml") == 1
    assert capsys.readouterr().out.splitlines() == [
        "| tests | pass | looks inside | on purpose | broker | unexplained | skipped |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
        "| test/a/test_x | 1 | 1 | 0 | 0 | 0 | 0 |",
        "| test/test_y | 0 | 0 | 0 | 1 | 1 | 1 |",
        "unexplained: test/test_y::test_4",
    ]


def test_kinds() -> None:
    assert kind_of("aiokafka", "tests/test_consumer/T::test_max_poll_interval_ms", "Timeout") == "on purpose"
    assert kind_of("aiokafka", "tests/test_consumer/T::test_getone", "0 != 1") == "unexplained"


PROGRAM = """
import sys
from pathlib import Path
from system_tests.foreign_suites import names
names.install(sys.argv[1], Path(sys.argv[2]))
"""


@pytest.mark.parametrize(
    ("library", "program"),
    [
        (
            "kafka",
            "import kafka, kafkapy\nfrom kafka.errors import KafkaError\nfrom kafka.inside import own\n"
            "assert kafka.KafkaConsumer is kafkapy.KafkaConsumer and KafkaError is kafkapy.errors.KafkaError\nprint(own)",
        ),
        (
            "aiokafka",
            "from aiokafka import AIOKafkaConsumer, inside\nfrom aiokafka.errors import ProducerFenced\n"
            "import kafkapy.aio\nassert AIOKafkaConsumer is kafkapy.aio.KafkaConsumer\nprint(inside.own)",
        ),
    ],
)
def test_public_names_are_ours_and_the_rest_the_librarys(tmp_path: Path, library: str, program: str) -> None:
    (tmp_path / library).mkdir()
    (tmp_path / library / "__init__.py").write_text("raise AssertionError('the library itself')")
    (tmp_path / library / "inside.py").write_text("own = 'its own'")
    command = [sys.executable, "-c", PROGRAM + program, library, str(tmp_path)]
    done = subprocess.run(command, cwd=Path(__file__).parents[2], capture_output=True, text=True)
    assert done.stdout == "its own\n", done.stderr
