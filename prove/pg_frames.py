"""Reads PostgreSQL messages: the end of a request, and the text of its statement."""

import asyncio
import re
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final, Protocol

_SPACES: Final = re.compile(r"\s+")
_LABEL_LENGTH: Final = 100
_DIGEST_LENGTH: Final = 6  # distinguishes statements with the same beginning
CATALOGS: Final = "catalog "  # prefix of the catalog's statements, on any connection
_CATALOG_TABLE: Final = re.compile(r"\b(listings|listing_(?!outcome)\w+|search_\w+)\b")
PROTOCOL_3: Final = 196_608
SSL_REQUEST: Final = 80_877_103
_SYNC, _QUERY, _FLUSH, _PARSE, _DESCRIBE, _EXECUTE, _BIND, _TERMINATE = b"SQHPDEBX"
_ERROR: Final = ord("E")
_DATA_ROW: Final = ord("D")
_RUN_TABLE: Final = re.compile(r"\b(automation_\w+|run_credits)\b")
_ENDS: Final = ("COMMIT", "ROLLBACK")


@dataclass(frozen=True, slots=True)
class Frame:
    """A message: its type (0 for a start-up message, which has none) and all its bytes."""

    kind: int
    raw: bytes

    @property
    def body(self) -> bytes:
        """The bytes after type and length."""
        return self.raw[5:]


async def read_frame(reader: asyncio.StreamReader) -> Frame:
    """Read the next message.

    Raises:
        asyncio.IncompleteReadError: the peer closed.
    """
    head = await reader.readexactly(5)
    length = int.from_bytes(head[1:])
    return Frame(head[0], head + await reader.readexactly(length - 4))


async def read_startup(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Read the first message of a connection: its code and its bytes.

    Raises:
        asyncio.IncompleteReadError: the peer closed.
    """
    head = await reader.readexactly(8)
    rest = await reader.readexactly(int.from_bytes(head[:4]) - 8)
    return int.from_bytes(head[4:]), head + rest


@dataclass(slots=True)
class Request:
    """The messages that a client sends before it waits for an answer."""

    frames: list[Frame] = field(default_factory=list)

    @property
    def raw(self) -> bytes:
        """All bytes of the request."""
        return b"".join(frame.raw for frame in self.frames)

    @property
    def is_whole(self) -> bool:
        """Whether the client waits after the last message."""
        return bool(self.frames) and self.frames[-1].kind in (_SYNC, _QUERY, _FLUSH, _TERMINATE)

    @property
    def is_termination(self) -> bool:
        """Whether the client terminates the connection."""
        return self.frames[-1].kind == _TERMINATE

    @property
    def is_commit(self) -> bool:
        """Whether the request commits a transaction."""
        last = self.frames[-1]
        return last.kind == _QUERY and last.body.lstrip().upper().startswith(b"COMMIT")

    def is_ended_by(self, kind: int) -> bool:
        """Whether a message of this kind is the last of the server's answer."""
        if self.frames[-1].kind == _FLUSH:  # a statement is prepared: its description is the last
            return kind in b"TnE"
        return kind == ord("Z")


def query(text: str) -> bytes:
    """Encode a simple query."""
    return _message(_QUERY, text.encode() + b"\0")


def refused_connection(sqlstate: str) -> bytes:
    """Encode the error of a refused connection."""
    fields = ("SFATAL", "VFATAL", f"C{sqlstate}", "Mas ordered")
    return _message(_ERROR, b"".join(each.encode() + b"\0" for each in fields) + b"\0")


def _message(kind: int, body: bytes) -> bytes:
    return bytes([kind]) + (len(body) + 4).to_bytes(4) + body


class Labels(Protocol):
    """Labels the requests of one connection, in their order."""

    @property
    def connect_label(self) -> str:
        """The label of opening the connection."""
        ...

    def label(self, request: Request) -> str:
        """The label of a request."""
        ...


class Statements:
    """The texts of one connection's prepared statements, for labels."""

    def __init__(self, *, are_the_catalogs: bool = False) -> None:
        self._are_the_catalogs = are_the_catalogs
        self._texts: dict[bytes, str] = {}

    @property
    def connect_label(self) -> str:
        """The label of opening the connection."""
        return f"{CATALOGS}sql connect" if self._are_the_catalogs else "sql connect"

    def label(self, request: Request) -> str:
        """Label a request: `sql` or `sql prepare`, and the text of its last statement."""
        text = self._last_text(request)
        is_catalogs = self._are_the_catalogs or _CATALOG_TABLE.search(text) is not None
        return shortened(f"{CATALOGS if is_catalogs else ''}{_verb(request)} {text}".rstrip())

    def _last_text(self, request: Request) -> str:
        text = ""
        for frame in request.frames:
            text = self._text(frame) or text
        return text

    def _text(self, frame: Frame) -> str:
        parts = frame.body.split(b"\0")
        if frame.kind == _PARSE:
            self._texts[parts[0]] = _one_line(parts[1])
            return self._texts[parts[0]]
        if frame.kind == _BIND:
            return self._texts.get(parts[1], "")
        if frame.kind == _QUERY:
            return _one_line(parts[0])
        return ""


def shortened(label: str) -> str:
    """Cut a label to its length; a digest distinguishes those with the same beginning."""
    if len(label) <= _LABEL_LENGTH:
        return label
    return f"{label[:_LABEL_LENGTH]} ~{sha256(label.encode()).hexdigest()[:_DIGEST_LENGTH]}"


class RunStatements(Statements):
    """Labels what concerns automation alone: the rest is no part of a run.

    A `COMMIT` or `ROLLBACK` is named after the last statement of its transaction.
    """

    def __init__(self) -> None:
        super().__init__(are_the_catalogs=True)
        self._last = ""

    def label(self, request: Request) -> str:
        """See `Statements`."""
        text = self._last_text(request)
        if _RUN_TABLE.search(text):
            self._last = text
            return shortened(f"{_verb(request)} {text}")
        if self._last and text.startswith(_ENDS):
            ended, self._last = self._last, ""
            return shortened(f"sql {text.rstrip(';')} after {ended}")
        return shortened(f"{CATALOGS}{_verb(request)} {text}".rstrip())


def _verb(request: Request) -> str:
    kinds = {frame.kind for frame in request.frames}
    return "sql prepare" if _PARSE in kinds and not kinds & {_EXECUTE, _QUERY} else "sql"


def has_rows(answer: bytes) -> bool:
    """Whether a server's answer has a row."""
    at = 0
    while at < len(answer):
        if answer[at] == _DATA_ROW:
            return True
        at += 1 + int.from_bytes(answer[at + 1 : at + 5])
    return False


def _one_line(text: bytes) -> str:
    return _SPACES.sub(" ", text.decode(errors="replace")).strip()
