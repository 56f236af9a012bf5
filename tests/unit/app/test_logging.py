"""Log lines: from several threads, without room for them, and of values without a text."""

import fcntl
import json
import logging
import os
import resource
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pytest
import structlog

from farebox.app.logging import LineFile, configure_logging, open_log
from support.recording_log import log_file

CALLS: Final = 20_000
WHOLE: Final = b'{"event":"whole"}\n'


@pytest.fixture
def log_path(tmp_path: Path) -> Iterator[Path]:
    """A log file that everything is written to, until the test ends."""
    with log_file(tmp_path / "farebox.log") as path:
        yield path


@contextmanager
def pipe() -> Iterator[tuple[int, LineFile]]:
    """The reading end of a pipe that holds one page, and the log that writes to it."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.set_blocking(reader, False)
    yield reader, LineFile(writer)
    os.close(reader)
    os.close(writer)


@contextmanager
def disk_of(size: int) -> Iterator[None]:
    """No file grows beyond `size` bytes: a write is cut there, and the next one fails."""
    kept = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, kept[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, kept)


def events(text: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_two_threads_log_every_line_whole(log_path: Path) -> None:
    raised: list[Exception] = []

    def write(thread: int) -> None:
        log = structlog.get_logger()
        try:
            for number in range(CALLS):
                log.info("called", thread=thread, number=number)
        except Exception as error:  # noqa: BLE001 - whatever it is, none may be raised
            raised.append(error)

    kept = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=write, args=(number,)) for number in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(kept)
    assert raised == []
    lines = events(log_path.read_bytes())
    for thread in range(2):
        own = [line["number"] for line in lines if line["thread"] == thread]
        assert own == list(range(CALLS))


def test_full_pipe_loses_lines_and_counts_them() -> None:
    with pipe() as (reader, log):
        for _ in range(1000):
            log.msg(WHOLE)
        kept = events(os.read(reader, 1 << 16))
        assert kept == [{"event": "whole"}] * len(kept)
        assert log.lost == 1000 - len(kept) > 0
        log.msg(WHOLE)
        notice, line = events(os.read(reader, 1 << 16))
    assert (notice["event"], notice["lines"]) == ("log.lines_lost", 1000 - len(kept))
    assert line == {"event": "whole"}
    assert log.lost == 0


def test_line_that_a_pipe_cut_is_lost_and_ended_before_the_next() -> None:
    with pipe() as (reader, log):
        log.msg(b"x" * 10_000 + b"\n")
        assert os.read(reader, 1 << 16) == b"x" * 4096
        log.msg(WHOLE)
        first, *others = os.read(reader, 1 << 16).split(b"\n", 1)
    assert first == b"", "the cut line is ended"
    assert [each.get("lines") for each in events(others[0])] == [1, None]


@pytest.mark.parametrize("room", range(len(WHOLE) + 1))
def test_line_that_a_full_disk_cut_is_lost_and_ended_before_the_next(
    tmp_path: Path, room: int
) -> None:
    path = tmp_path / "farebox.log"
    descriptor = open_log(path)
    log = LineFile(descriptor)
    log.msg(WHOLE)
    with disk_of(len(WHOLE) + room):
        log.msg(WHOLE)
        log.msg(WHOLE)
    assert path.stat().st_size == len(WHOLE) + room
    log.msg(WHOLE)
    log.msg(WHOLE)
    os.close(descriptor)
    first, second, *others = path.read_bytes().split(b"\n")
    assert first + b"\n" == WHOLE
    if 0 < room < len(WHOLE) - 1:
        assert second == WHOLE[:room], "what the disk took of the line stands alone"
        notice, *whole = others
    else:
        notice, *whole = [second, *others] if room == 0 else others
    lost = 1 if room == len(WHOLE) else 2
    assert json.loads(notice)["lines"] == lost
    assert whole == [WHOLE.strip(), WHOLE.strip(), b""]


def test_warning_of_a_collected_object_during_a_write_is_counted_as_lost(tmp_path: Path) -> None:
    class Nesting(LineFile):
        def _write(self, data: bytes) -> int:
            if not self.lost:
                self.msg(b"nested\n")
            return super()._write(data)

    path = tmp_path / "farebox.log"
    descriptor = open_log(path)
    log = Nesting(descriptor)
    log.msg(WHOLE)
    os.close(descriptor)
    assert (path.read_bytes(), log.lost) == (WHOLE, 1)


def test_closed_descriptor_loses_lines_without_an_error(tmp_path: Path) -> None:
    descriptor = open_log(tmp_path / "farebox.log")
    log = LineFile(descriptor)
    os.close(descriptor)
    log.msg(WHOLE)
    assert log.lost == 1


class Silent:
    """A value whose text cannot be had."""

    def __str__(self) -> str:
        raise RuntimeError("no text")


def test_value_that_json_lacks_is_logged(log_path: Path) -> None:
    structlog.get_logger().info("odd", amount=2**127 - 1, half="\ud800", moment=datetime.now(UTC))
    (line,) = events(log_path.read_bytes())
    assert (line["event"], line["level"]) == ("odd", "info")
    assert (line["amount"], line["half"]) == (2**127 - 1, "\ud800")
    assert datetime.fromisoformat(str(line["at"])).tzinfo is not None


def test_event_with_a_value_without_text_is_logged_by_its_name(log_path: Path) -> None:
    structlog.get_logger().warning("odd\ud800", held=Silent())
    (line,) = events(log_path.read_bytes())
    assert (line["event"], line["name"], line["cause"], line["level"]) == (
        "log.unreadable",
        "odd\\ud800",
        "RuntimeError",
        "warning",
    )


def test_record_whose_arguments_do_not_fit_is_logged_without_them(log_path: Path) -> None:
    record = logging.makeLogRecord(
        {"name": "some.library", "msg": "%d requests of %s", "args": ("many",)}
    )
    (handler,) = (each for each in logging.getLogger().handlers if is_ours(each))
    handler.emit(record)
    (line,) = events(log_path.read_bytes())
    assert (line["event"], line["logger"]) == ("%d requests of %s", "some.library")


def is_ours(handler: logging.Handler) -> bool:
    return type(handler).__module__ == configure_logging.__module__
