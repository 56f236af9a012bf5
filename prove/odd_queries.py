"""Queries nobody sane would send, and some that anybody might: made from one source of chance."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final
from urllib.parse import quote

PATHS: Final = ("/discovery/resources", "/discovery/search", "/discovery/merchant")
_FILTERS: Final = ("type", "network", "payTo", "scheme", "extensions", "extension")
_NAMES: Final = (*_FILTERS, "limit", "offset", "query", "cursor", "explain")
_FITTING: Final = {
    "type": ("http", "mcp"),
    "network": ("stellar:testnet", "stellar:pubnet", "eip155:8453"),
    "scheme": ("exact", "upto"),
    "extensions": ("bazaar",),
    "extension": ("bazaar", "other"),
    "limit": ("1", "2", "20", "100", "101", "1000000000"),
    "offset": ("0", "1", "300", "1000000", str(2**63 - 1)),
    "explain": ("true", "false", "1", "0"),
}
_HOSTILE: Final = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ufeff",
    "\ufffd\uffff\U0010ffff",
    "' OR '1'='1' --",
    "'; DROP TABLE listings; --",
    "$1",
    "%s%n",
    "%",
    "_",
    "\\",
    "\\'\\\"\\0",
    '"',
    '"""',
    "''",
    '" OR "',
    "or or or",
    "-",
    "--",
    '-"',
    '"" -""',
    "!!",
    "& | !",
    "<->",
    "a <-> b",
    "a:*",
    "foo:ABCD",
    "((((",
    "(a & (b | c",
    "a" * 3_000,
    "a " * 700,
    "- " * 500,
    '"a" ' * 300,
    "or " * 400,
    "NULL",
    "NaN",
    "Infinity",
    "1e999",
    "-1",
    "0x10",
    str(2**64),
    "9" * 5_000,
    "\u0661\u0662",
    "\u202egnirts",
    "e\u0301" * 40,
    "\u200b\u200d",
    "\U0001f600" * 60,
    "ﬃ ß İ ı K",
    "日本の天気予報",
    "погода в париже",
    "طقس باريس",
    "<script>alert(1)</script>",
    "{}[]()^$.|*+?",
    "../../etc/passwd",
    "http://169.254.169.254/latest",
    "\r\nX-Injected: 1",
    "a\tb\nc",
    "null",
    "__proto__",
    "true",
)
_RAW: Final = (
    "%",
    "%z",
    "%zz",
    "%4",
    "%FF",
    "%C0%80",
    "%ED%A0%80",
    "%F5%80%80%80",
    "%00",
    "+",
    "%2B",
)


@dataclass(frozen=True, slots=True)
class Stock:
    """What there is to ask with: words of the catalog, its recipients, cursors given before."""

    words: Sequence[str]
    sentences: Sequence[str]
    recipients: Sequence[str]
    cursors: Sequence["GivenCursor"] = ()


@dataclass(frozen=True, slots=True)
class GivenCursor:
    """A cursor as it was given, and the query that it was given for, without it."""

    text: str
    query: str


@dataclass(frozen=True, slots=True)
class OddQuery:
    """One request's path and query string, as they stand in a request line."""

    path: str
    query: str  # ASCII
    is_forged: bool = False  # the cursor is not one that was given for this query

    @property
    def target(self) -> str:
        """What is asked for."""
        return f"{self.path}?{self.query}"


def odd_query(random: Random, stock: Stock) -> OddQuery:
    """The next one."""
    if stock.cursors and random.random() < 0.25:
        return _with_cursor(random, stock)
    path = random.choice(PATHS)
    names = list(random.sample(_NAMES, random.randrange(5)))
    needed = {PATHS[1]: "query", PATHS[2]: "payTo"}.get(path)
    if needed and needed not in names and random.random() < 0.95:
        names.append(needed)
    if random.random() < 0.1:
        names.append(random.choice((*names, *_NAMES, "maxUsdPrice", "\x00", "é", "")))
    random.shuffle(names)
    pairs = [
        f"{quote(name, safe='')}{_sign(random)}{_value(random, name, stock)}" for name in names
    ]
    return OddQuery(path, "&".join(pairs)[:20_000])


def _sign(random: Random) -> str:
    return "=" if random.random() < 0.98 else random.choice(("", "==", "&"))


def _value(random: Random, name: str, stock: Stock) -> str:
    """A value, percent-encoded, and now and then not well."""
    dice = random.random()
    if name == "query" and dice < 0.75:
        text = _said(random, stock)
    elif name == "payTo" and dice < 0.6:
        text = random.choice(stock.recipients)
    elif name in _FITTING and dice < 0.7:
        text = random.choice(_FITTING[name])
    elif dice < 0.9:
        text = random.choice(_HOSTILE)
    else:
        text = "".join(chr(_codepoint(random)) for _ in range(random.randrange(1, 30)))
    encoded = quote(text, safe=random.choice(("", "'()*!:/", "-._~")))
    if random.random() < 0.06:
        place = random.randrange(len(encoded) + 1)
        encoded = encoded[:place] + random.choice(_RAW) + encoded[place:]
    return encoded


def _said(random: Random, stock: Stock) -> str:
    """Words as somebody might look for, with what a search understands and with slips."""
    if random.random() < 0.3:
        return random.choice(stock.sentences)
    words = [_word(random, stock) for _ in range(random.randrange(1, 7))]
    if random.random() < 0.3:
        words.insert(random.randrange(len(words) + 1), random.choice(("or", "OR", "and", "not")))
    text = " ".join(words)
    if random.random() < 0.2:
        return f'"{text}"' if random.random() < 0.7 else f'"{text}'
    return text


def _word(random: Random, stock: Stock) -> str:
    word = random.choice(stock.words)
    dice = random.random()
    if dice < 0.1 and len(word) > 3:
        place = random.randrange(len(word) - 1)
        return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
    if dice < 0.2:
        return f"-{word}"
    if dice < 0.25:
        return f'"{word}"'
    return random.choice(_HOSTILE)[:40] if dice < 0.3 else word


def _codepoint(random: Random) -> int:
    """Any character but half a surrogate pair, which no percent-encoding of text has."""
    while True:
        at = random.choice((0x80, 0x800, 0x3000, 0x10000, 0x110000))
        point = random.randrange(at)
        if not 0xD800 <= point < 0xE000:
            return point


def _with_cursor(random: Random, stock: Stock) -> OddQuery:
    """A cursor as given, with another search, or changed in some way."""
    given = random.choice(stock.cursors)
    path = "/discovery/search"
    dice = random.random()
    if dice < 0.3:
        return OddQuery(path, f"{given.query}&cursor={given.text}")
    if dice < 0.45:
        other = quote(_said(random, stock), safe="") or "x"
        return OddQuery(path, f"query={other}%20-zzz&cursor={given.text}", is_forged=True)
    changed = quote(_changed(random, given.text), safe="")
    return OddQuery(path, f"{given.query}&cursor={changed}", is_forged=changed != given.text)


def _changed(random: Random, cursor: str) -> str:
    dice = random.random()
    if dice < 0.6:
        raw = bytearray(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        bit = random.randrange(8 * len(raw))
        raw[bit // 8] ^= 1 << bit % 8
        return urlsafe_b64encode(raw).rstrip(b"=").decode()
    if dice < 0.7:
        return cursor[: random.randrange(1, len(cursor))]
    if dice < 0.8:
        return cursor + random.choice(("A", "=", "==", "!", "\n", "é", cursor))
    if dice < 0.9:
        place = random.randrange(len(cursor))
        return cursor[:place] + random.choice("AZaz09-_+/=% ") + cursor[place + 1 :]
    return urlsafe_b64encode(random.randbytes(random.randrange(1, 200))).decode()
