"""Definitions of configs for connectors, converters and transforms."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkapy.common.lazy_names import lazy_names

if TYPE_CHECKING:
    from kafkapy.connect.config.config_def import NO_DEFAULT as NO_DEFAULT
    from kafkapy.connect.config.config_def import ConfigDef as ConfigDef
    from kafkapy.connect.config.config_def import ConfigKey as ConfigKey
    from kafkapy.connect.config.config_def import ConfigValue as ConfigValue
    from kafkapy.connect.config.config_def import Recommender as Recommender
    from kafkapy.connect.config.config_def import Width as Width
    from kafkapy.connect.config.config_def import convert_to_string as convert_to_string
    from kafkapy.connect.config.config_def import parse_value as parse_value
else:
    __all__, __getattr__ = lazy_names(
        __name__,
        {
            "config_def": (
                "NO_DEFAULT ConfigDef ConfigKey ConfigValue Recommender Width convert_to_string parse_value"
            ),
        },
    )
