from __future__ import annotations

import sys
import types

import pytest

import kafkapy.common
from kafkapy.common.lazy_names import lazy_names
from kafkapy.structs import OffsetSpec


def test_names_are_looked_up_once_and_modules_mean_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    package = types.ModuleType("kafkapy.common")
    package.__path__ = kafkapy.common.__path__
    monkeypatch.setitem(sys.modules, "kafkapy.common", package)
    names, find = lazy_names("kafkapy.common", {"time": "time MockTime", ".structs": "OffsetSpec"}, "uuid")
    assert names == ["MockTime", "OffsetSpec", "time"]
    time = find("time")
    assert (time.__name__, find("MockTime")) == ("kafkapy.common.time", time.MockTime)
    assert (find("OffsetSpec"), find("uuid").__name__) == (OffsetSpec, "kafkapy.common.uuid")
    assert (vars(package)["time"], vars(package)["MockTime"]) == (time, time.MockTime)
    with pytest.raises(AttributeError, match=r"module 'kafkapy\.common' has no attribute 'Clock'"):
        find("Clock")
