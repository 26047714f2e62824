"""pyright, which editors use, has nothing to say of the programs of README and docs, nor of those in tests/typed_programs.

basedpyright is pyright as a wheel, with its own node: nothing is fetched when it runs. Its mode "strict" is pyright's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from kafkapy.tools.face_stubs import write_stubs
from tests.pages.programs import ROOT, write_programs

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
    command = [sys.executable, "-m", "basedpyright", "-p", str(project), "--pythonpath", sys.executable, "--outputjson"]
    checked = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    report = json.loads(checked.stdout)
    assert report["summary"]["filesAnalyzed"] >= len(paths) + len(list(TYPED_PROGRAMS.glob("*.py")))
    found = [
        f"{Path(said['file']).name}:{said['range']['start']['line'] + 1}: {said['message']} ({said.get('rule')})"
        for said in report["generalDiagnostics"]
        if said["severity"] == "error"
    ]
    assert not found, "\n".join(found)
