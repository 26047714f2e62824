"""pyright, which editors use, has nothing to say of the programs of README and docs, nor of those in tests/typed_programs.

basedpyright is pyright as a wheel, with its own node: nothing is fetched when it runs. Its mode "strict" is pyright's.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from kafkapy.tools.face_stubs import write_stubs
from tests.pages.programs import ROOT, write_programs

NOTHING_FOUND, FOUND_ERRORS = 0, 1
"""What pyright ends with if it could look at all."""
TYPED_PROGRAMS = Path(__file__).with_name("typed_programs")
NOT_OURS = {
    "reportMissingTypeStubs": False,
    "reportUnknownMemberType": False,
    "reportUnknownVariableType": False,
    "reportUnknownArgumentType": False,
    "reportUnknownParameterType": False,
    "reportUnknownLambdaType": False,
    "reportUnusedVariable": False,
}
"""Rules of strict mode that speak of libraries without types (pyarrow, Spark), or of programs that show a thing and leave it."""


def reported_by_pyright(project: Path) -> dict[str, Any]:
    """What it has to say of a project, as JSON. Where memory is short its node may be killed before it says anything: then it is
    asked once more."""
    command = [sys.executable, "-m", "basedpyright", "-p", str(project), "--pythonpath", sys.executable, "--outputjson"]
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NODE_OPTIONS")}
    told: list[str] = []
    for attempt in range(2):
        output = project.with_name(f"report-{attempt}.json")
        with output.open("wb") as file:
            checked = subprocess.run(
                command, cwd=project.parent, env=environment, stdout=file, stderr=subprocess.PIPE, text=True
            )
        if checked.returncode in (NOTHING_FOUND, FOUND_ERRORS):
            report: dict[str, Any] = json.loads(output.read_bytes())
            return report
        told.append(f"pyright ended with {checked.returncode}: {checked.stderr}{output.read_text()[:1000]}")
    raise AssertionError("\n".join(told))


def test_programs_of_users(tmp_path: Path) -> None:
    write_stubs()
    programs = tmp_path / "programs"
    programs.mkdir()
    paths = write_programs(programs)
    config = {
        "include": [str(programs), str(TYPED_PROGRAMS)],
        "extraPaths": [str(ROOT)],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.11",
        "reportUnnecessaryTypeIgnoreComment": True,
        **NOT_OURS,
    }
    project = tmp_path / "pyrightconfig.json"
    project.write_text(json.dumps(config))
    report = reported_by_pyright(project)
    assert report["summary"]["filesAnalyzed"] >= len(paths) + len(list(TYPED_PROGRAMS.glob("*.py")))
    found = [
        f"{Path(said['file']).name}:{said['range']['start']['line'] + 1}: {said['message']} ({said.get('rule')})"
        for said in report["generalDiagnostics"]
        if said["severity"] == "error"
    ]
    assert not found, "\n".join(found)
