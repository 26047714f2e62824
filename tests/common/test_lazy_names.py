from __future__ import annotations

import sys
import types

import pytest

import kafkapy.common
from kafkapy.common.lazy_names import lazy_names


def test_names_are_looked_up_once_and_modules_mean_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    package = types.ModuleType("kafkapy.common")
    package.__path__ = kafkapy.common.__path__
    monkeypatch.setitem(sys.modules, "kafkapy.common", package)
    find = lazy_names("kafkapy.common", {"MockTime": "time", "time": "time"})
    time = find("time")
    assert (time.__name__, find("MockTime")) == ("kafkapy.common.time", time.MockTime)
    assert (vars(package)["time"], vars(package)["MockTime"]) == (time, time.MockTime)
    with pytest.raises(AttributeError, match=r"module 'kafkapy\.common' has no attribute 'Clock'"):
        find("Clock")
