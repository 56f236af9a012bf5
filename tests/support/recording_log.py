"""Logs of a test: one that keeps its events, and a file that everything is written to."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from farebox.app.logging import configure_logging, open_log
from farebox.app.setting_rules import LogLevel


class RecordingLog:
    """Keeps every event with its fields."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, object]]] = []

    def info(self, event: str, **fields: object) -> None:
        """Keep the event."""
        self.events.append((event, fields))


@contextmanager
def log_file(path: Path) -> Iterator[Path]:
    """A log file that everything is written to, until the end of the block."""
    root = logging.getLogger()
    kept = (list(root.handlers), root.level, structlog.get_config())
    descriptor = open_log(path)
    configure_logging(LogLevel.DEBUG, descriptor)
    yield path
    logging.captureWarnings(capture=False)
    root.handlers, root.level = kept[0], kept[1]
    structlog.configure(**kept[2])
    os.close(descriptor)
