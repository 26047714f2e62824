"""Validators see None for a required config that is missing."""

from __future__ import annotations

import pytest

from kafkapy.common.config_def import Validator
from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config import ConfigDef
from kafkapy.connect.config.validators import ListSize, NonEmptyList, NonEmptyStringWithoutControlChars, RegexPattern

MISSING = 'Missing required configuration "it" which has no default value.'


@pytest.mark.parametrize(
    ("validator", "type", "further"),
    [
        (ListSize(2), ConfigType.LIST, []),
        (NonEmptyStringWithoutControlChars(), ConfigType.STRING, []),
        (NonEmptyList(), ConfigType.LIST, ["Invalid value null for configuration it: Empty list"]),
        (RegexPattern(), ConfigType.STRING, ["Invalid value null for configuration it: Invalid regex: null"]),
    ],
)
def test_a_missing_config_is_reported(validator: Validator, type: ConfigType, further: list[str]) -> None:
    (found,) = ConfigDef().define("it", type, validator=validator).validate({})
    assert found.errors == [MISSING, *further]
