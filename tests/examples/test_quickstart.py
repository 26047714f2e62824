"""The quick start's pure parts; system_tests runs the whole of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from examples.quickstart.main import main
from examples.quickstart.picture import draw, table
from examples.quickstart.source import (
    Counts,
    Digester,
    QuickstartError,
    SourceFile,
    combined,
    count_directly,
    given,
    lines,
    package_of,
    standard_library,
)


def test_the_standard_library_is_named_by_package() -> None:
    names = {file.name for file in standard_library()}
    assert {"asyncio/events.py", "os.py"} <= names
    assert not any("site-packages" in name or name.startswith("test/") for name in names)
    assert (package_of("asyncio/events.py"), package_of("os.py")) == ("asyncio", "(modules)")


def test_given_files_belong_to_their_directories(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    for name in ("a/x.txt", "b/y.txt"):
        (tmp_path / name).write_text("1\n")
    one = given([str(tmp_path / "a/x.txt"), str(tmp_path / "a/x.txt")])
    assert [(file.name, package_of(file.name)) for file in one] == [("a/x.txt", "a")]
    two = given([str(tmp_path / "a/x.txt"), str(tmp_path / "b/y.txt")])
    assert [package_of(file.name) for file in two] == [f"{tmp_path}/a", f"{tmp_path}/b"]


@pytest.mark.parametrize(("name", "why"), [("gone", "no such file"), (".", "it is a directory")])
def test_a_wrong_file_is_named(tmp_path: Path, name: str, why: str) -> None:
    with pytest.raises(QuickstartError, match=f"{why}. Give files"):
        given([str(tmp_path / name)])


def test_files_without_a_line_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    with pytest.raises(QuickstartError, match="not one line"):
        given([str(tmp_path / "empty")])


@pytest.mark.parametrize("port", ["0", "-1", "65536", "x"])
def test_a_wrong_port_is_refused(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--port", port])
    assert ended.value.code == 2 and "--port" in capsys.readouterr().err


def test_a_file_that_goes_away_is_named(tmp_path: Path) -> None:
    with pytest.raises(QuickstartError, match=r"gone\.py can't be read"):
        list(lines(SourceFile(tmp_path / "gone.py", "gone.py")))


def test_the_direct_count(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_bytes(b"def f(self):\r\n    return self.x + \xff g(1)  # the end\n\n")
    (tmp_path / "empty.py").write_bytes(b"")
    counts = count_directly([SourceFile(path, "p/m.py"), SourceFile(tmp_path / "empty.py", "p/empty.py")])
    assert counts == Counts({"p": (1, 3, 10)}, Counter({"f": 1, "self": 1, "g": 1}))


def test_digests_tell_files_and_order_apart() -> None:
    one, other = Digester(), Digester()
    for line in (b"a", b"b"):
        one.add("f", line)
    for line in (b"b", b"a"):
        other.add("f", line)
    assert one.result()["f"][0] == other.result()["f"][0] == 2
    assert combined(one.result()) != combined(other.result())
    expected = hashlib.sha256(b"\0\0\0\1a\0\0\0\1b").hexdigest()
    assert one.result() == {"f": (2, expected)}


def test_the_table_and_the_picture(tmp_path: Path) -> None:
    counts = Counts({f"package{n}": (1, n, 2 * n) for n in range(1, 15)}, Counter({"self": 70000, "x": 1}))
    shown = table(counts).splitlines()
    assert shown[1].split() == ["package14", "1", "14", "28", "self", "70,000"]
    assert shown[-1] == "  ... and 2 packages more"
    pytest.importorskip("matplotlib")
    draw(counts, tmp_path / "p.png")
    assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")
