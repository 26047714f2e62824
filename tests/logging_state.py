"""How logging is set up in the process of the tests."""

from __future__ import annotations

import logging

_FLAGS = ("raiseExceptions", "_srcfile", "logThreads", "logProcesses", "logMultiprocessing")


class LoggingState:
    """As it was when this was made: the root logger, the loggers of kafkapy, and what holds for all."""

    def __init__(self) -> None:
        self._handlers = logging.root.handlers[:]
        self._flags = {name: getattr(logging, name) for name in _FLAGS}
        self._names = {level: logging.getLevelName(level) for level in (logging.WARNING, logging.CRITICAL)}
        self.levels = _levels()

    def changed_levels(self) -> dict[str, int]:
        """The loggers with other levels than then, and these."""
        now = _levels()
        return {name: now.get(name, 0) for name in now | self.levels if now.get(name, 0) != self.levels.get(name, 0)}

    def restore(self) -> None:
        root = logging.root
        for logger in [root, *(x for x in root.manager.loggerDict.values() if isinstance(x, logging.Logger))]:
            if logger is root or logger.name.startswith("kafkapy"):
                for handler in logger.handlers[:]:
                    if handler not in self._handlers:
                        logger.removeHandler(handler)
                        handler.close()
                if logger is not root:
                    logger.propagate = True
                    logger.setLevel(self.levels.get(logger.name, logging.NOTSET))
        root.handlers[:] = self._handlers
        root.setLevel(self.levels["root"])
        for name, value in self._flags.items():
            setattr(logging, name, value)
        for number, name in self._names.items():
            logging.addLevelName(number, name)


def _levels() -> dict[str, int]:
    """Of the root logger, and of kafkapy's that have one of their own."""
    return {"root": logging.root.level} | {
        name: logger.level
        for name, logger in logging.root.manager.loggerDict.items()
        if isinstance(logger, logging.Logger) and logger.level and name.startswith("kafkapy")
    }
