"""Applies the transforms of a connector in order (Kafka's `TransformationChain`, `TransformationStage`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from kafkapy.common.wire_enums import ConfigType
from kafkapy.connect.config.config_def import parse_value
from kafkapy.connect.config.plugin_aliases import PluginClasses
from kafkapy.connect.errors import ConnectException
from kafkapy.connect.records import ConnectRecord
from kafkapy.connect.runtime.errors.processing_context import ProcessingContext
from kafkapy.connect.runtime.errors.retry_operator import RetryWithToleranceOperator
from kafkapy.connect.runtime.errors.stage import Stage
from kafkapy.connect.runtime.worker_task import close_quietly
from kafkapy.connect.transforms.transformation import Predicate, Transformation

R = TypeVar("R", bound=ConnectRecord)


class TransformationStage:
    """A transform, with the predicate that selects its records (KIP-585)."""

    def __init__(
        self, transformation: Transformation, predicate: Predicate | None = None, negate: bool = False
    ) -> None:
        """
        Args:
            transformation: The configured transform.
            predicate: The configured predicate. Default: all records are transformed.
            negate: True: transform the records for which the predicate is false.
        """
        self.transformation = transformation
        self.predicate = predicate
        self.negate = negate

    def apply(self, record: R) -> R | None:
        """Return the record, transformed or unchanged; None: it is dropped."""
        if self.predicate is None or self.negate != self.predicate.test(record):
            return self.transformation.apply(record)
        return record

    def close(self) -> None:
        close_quietly(self.transformation, "A transform")
        if self.predicate is not None:
            close_quietly(self.predicate, "A predicate")


class TransformationChain:
    """Applies transforms; the task's operator handles their errors.

    Attributes:
        is_empty: There are none.
    """

    def __init__(self, stages: Sequence[TransformationStage], operator: RetryWithToleranceOperator) -> None:
        """
        Args:
            stages: The stages in order.
            operator: The task's operator for errors.
        """
        self._stages = stages
        self._operator = operator
        self.is_empty = not stages

    def apply(self, context: ProcessingContext, record: R) -> R | None:
        """Return the transformed record; None: it was dropped, or has failed with an error in the context.

        Raises:
            ConnectException: A transform has failed, and the error is not tolerated.
        """
        for stage in self._stages:
            try:
                changed = stage.apply(record)
            except Exception as error:
                changed = self._recover(context, stage, record, error)
            if changed is None:
                return None
            record = changed
        return record

    def _recover(self, context: ProcessingContext, stage: TransformationStage, record: R, error: Exception) -> R | None:
        executing = type(stage.transformation)
        return self._operator.recover(context, lambda: stage.apply(record), Stage.TRANSFORMATION, executing, error)

    def close(self) -> None:
        for stage in self._stages:
            stage.close()


def transformation_stages(plugins: PluginClasses, config: Mapping[str, str | None]) -> list[TransformationStage]:
    """Create and configure the transforms and predicates of a connector's config.

    Args:
        plugins: Finds their classes.
        config: The connector's.

    Raises:
        ConnectException: One cannot be created, or refuses its configs.
    """
    aliases = parse_value("transforms", config.get("transforms"), ConfigType.LIST) or []
    stages = []
    for alias in aliases:
        try:
            stages.append(_stage(plugins, alias, config))
        except Exception as error:
            for stage in stages:
                stage.close()
            raise ConnectException.of(error) from error
    return stages


def _stage(plugins: PluginClasses, alias: str, config: Mapping[str, str | None]) -> TransformationStage:
    prefix = f"transforms.{alias}."
    own = _with_prefix(config, prefix)
    transformation = plugins.find_class(own.get("type") or "")()
    predicate_alias, negate = own.pop("predicate", None), own.pop("negate", None)
    transformation.configure(own)
    if predicate_alias is None:
        return TransformationStage(transformation)
    settings = _with_prefix(config, f"predicates.{predicate_alias}.")
    predicate = plugins.find_class(settings.get("type") or "")()
    predicate.configure(settings)
    return TransformationStage(transformation, predicate, (negate or "").strip().lower() == "true")


def _with_prefix(config: Mapping[str, str | None], prefix: str) -> dict[str, str]:
    return {
        name.removeprefix(prefix): value
        for name, value in config.items()
        if name.startswith(prefix) and value is not None
    }
