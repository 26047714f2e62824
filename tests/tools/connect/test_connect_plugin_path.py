from __future__ import annotations

from pathlib import Path

import pytest

from kafkapy.tools.connect.connect_plugin_path import main


def package(folder: Path, name: str, entry_point: str, source: str) -> None:
    (folder / f"{name}.py").write_text(source)
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[kafkapy.connect]\n{entry_point}\n")


def test_the_plugins_of_a_folder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    imports = "from kafkapy.connect.transforms.predicates import TopicNameMatches"
    source = f"{imports}\nclass Mine(TopicNameMatches):\n    java_class = 'org.example.Mine'\n"
    package(tmp_path, "plugin_path_mine", "org.example.Mine = plugin_path_mine:Mine", source)
    package(tmp_path, "plugin_path_broken", "org.example.Broken = plugin_path_broken:Nothing", "")
    assert main(["list", "--plugin-location", str(tmp_path)]) == 0
    printed = capsys.readouterr()
    rows = [line.split("\t") for line in printed.out.splitlines()]
    assert rows[0][0] == "pluginName" and rows[1][:2] == ["org.example.Broken", "N/A"]
    assert rows[2] == ["org.example.Mine", "Mine", "Mine", "undefined", "predicate", "true", "true", str(tmp_path)]
    assert "Total plugins:      \t2" in printed.out and "Loadable plugins:   \t1" in printed.out
    assert "plugin_path_broken:Nothing cannot be loaded" in printed.err


def test_the_plugins_of_a_module_in_a_workers_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    worker = tmp_path / "worker.properties"
    worker.write_text("plugin.path=kafkapy.connect.converters.string_converter\n")
    assert main(["list", "--worker-config", str(worker)]) == 0
    assert "org.apache.kafka.connect.storage.StringConverter\tStringConverter\tString\t3.9.1" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["list"], "Must specify at least one --plugin-location"),
        (["sync-manifests", "--plugin-path", "a"], "entry points of the group kafkapy.connect"),
        (["list", "--worker-config", "/nowhere.properties"], "/nowhere.properties: No such file"),
    ],
)
def test_what_cannot_be_done_is_said(arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 1
    assert sentence in capsys.readouterr().err
