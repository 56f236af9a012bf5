"""Write log events as redacted JSON lines to a file or to standard error."""

import json
import logging
import os
import select
import stat
import sys
import threading
from collections.abc import MutableMapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import orjson
import structlog

from farebox.app.redaction import redact_event, redact_text
from farebox.app.setting_rules import LogLevel
from farebox.web.request_context import current_request_id

_LEVELS: Final = {
    LogLevel.DEBUG: logging.DEBUG,
    LogLevel.INFO: logging.INFO,
    LogLevel.WARNING: logging.WARNING,
    LogLevel.ERROR: logging.ERROR,
}
_LONGEST_LINE: Final = 1 << 20
_OPTIONS: Final = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z


class LineFile:
    """Appends whole lines to a file descriptor; threads may share it, and `msg` raises nothing.

    With a full disk or a blocked pipe, lines are lost; requests never wait for the log. The next
    line that can be written is preceded by the number of lost lines. A line that was written in
    part is lost, and is ended before anything else is written.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._room = select.poll()  # one thread at a time may use it
        self._room.register(descriptor, select.POLLOUT)
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        self._max_write = (
            _LONGEST_LINE if is_file else select.PIPE_BUF
        )  # bytes that are written without waiting
        # Reentrant: within a write, the interpreter may collect an object whose end is a warning.
        self._lock = threading.RLock()
        self._is_writing = self._is_cut = False
        self.lost = 0  # lines since the last one that was written

    def msg(self, line: bytes) -> None:
        """Write the line, or count it as lost."""
        with self._lock:
            if self._is_writing:
                self.lost += 1
                return
            self._is_writing = True
            try:
                self._append(line)
            finally:
                self._is_writing = False

    def _append(self, line: bytes) -> None:
        lost = self.lost
        head = b"\n" if self._is_cut else b""
        if lost:
            head += _lost_lines(lost)
        written = self._write(head + line)
        if written >= len(head):
            self.lost -= lost
        if written < len(head) + len(line):
            self.lost += 1

    def _write(self, data: bytes) -> int:
        """Return how many of the bytes were written: the descriptor may not be ready, or fail."""
        written = 0
        try:
            while written < len(data) and self._room.poll(0):
                count = os.write(self._descriptor, data[written : written + self._max_write])
                if count == 0:
                    break
                written += count
        except OSError:
            pass
        if written:
            self._is_cut = data[written - 1 : written] != b"\n"
        return written

    debug = info = warning = error = critical = exception = msg


def _lost_lines(number: int) -> bytes:
    event = {"event": "log.lines_lost", "lines": number, "level": "warning"}
    return orjson.dumps(event | {"at": datetime.now(UTC)}, option=_OPTIONS)


class _StandardHandler(logging.Handler):
    """Sends records of the standard logging module through the same redaction."""

    def emit(self, record: logging.LogRecord) -> None:
        event: dict[str, Any] = {"logger": record.name}
        if record.exc_info and record.exc_info[1] is not None:
            event["exc_info"] = record.exc_info
        name = record.levelname.lower()
        level = name if name in ("debug", "info", "warning", "error") else "error"
        getattr(structlog.get_logger(), level)(_message_of(record), **event)


def _message_of(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except Exception:  # noqa: BLE001 - a library's arguments do not fit its text
        return str(record.msg)


def open_log(path: Path | None) -> int:
    """Open a descriptor to append to; standard error when `path` is None.

    Raises:
        OSError: the file cannot be opened or created.
    """
    if path is None:
        return sys.stderr.fileno()
    path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


def configure_logging(level: LogLevel, descriptor: int) -> None:
    """Write every event of the process as one redacted JSON line to `descriptor`."""
    line_file = LineFile(descriptor)
    structlog.configure(
        processors=[_line],
        wrapper_class=structlog.make_filtering_bound_logger(_LEVELS[level]),
        logger_factory=lambda *_: line_file,
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers = [_StandardHandler()]
    root.setLevel(max(_LEVELS[level], logging.WARNING))
    logging.captureWarnings(capture=True)


def _line(logger: object, method: str, event: MutableMapping[str, Any]) -> bytes:
    """The only processor: a chain of four is 1.5 times as slow."""
    name = event.get("event")
    try:
        return _serialize(logger, method, event)
    except Exception as error:  # noqa: BLE001 - a value without a text ends no caller
        cause = type(error).__name__
    text = name.encode("ascii", "backslashreplace").decode() if isinstance(name, str) else ""
    fixed = {"event": "log.unreadable", "name": redact_text(text), "cause": cause}
    return orjson.dumps(fixed | {"level": method, "at": datetime.now(UTC)}, option=_OPTIONS)


def _serialize(logger: object, method: str, event: MutableMapping[str, Any]) -> bytes:
    if "exc_info" in event:
        event = structlog.processors.format_exc_info(logger, method, event)
    at = datetime.now(UTC)
    event = dict(redact_event(logger, method, event))
    event["level"], event["at"] = method, at
    request_id = current_request_id.get()
    if request_id is not None:
        event["request_id"] = request_id
    try:
        return orjson.dumps(event, default=str, option=_OPTIONS)
    except TypeError:  # an integer of more than 64 bits, or half of a surrogate pair
        return json.dumps(event | {"at": at.isoformat()}, default=str).encode() + b"\n"
