"""Generate random queries of the catalog, hostile and ordinary ones, from one seed."""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final
from urllib.parse import quote

PATHS: Final = ("/discovery/resources", "/discovery/search", "/discovery/merchant")
_FILTERS: Final = ("type", "network", "payTo", "scheme", "extensions", "extension")
_NAMES: Final = (*_FILTERS, "limit", "offset", "query", "cursor", "explain")
_VALID_VALUES: Final = {
    "type": ("http", "mcp"),
    "network": ("stellar:testnet", "stellar:pubnet", "eip155:8453"),
    "scheme": ("exact", "upto"),
    "extensions": ("bazaar",),
    "extension": ("bazaar", "other"),
    "limit": ("1", "2", "20", "100", "101", "1000000000"),
    "offset": ("0", "1", "300", "1000000", str(2**63 - 1)),
    "explain": ("true", "false", "1", "0"),
}
HOSTILE_TEXTS: Final = (
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
class QueryVocabulary:
    """The material of queries: words, sentences, recipients and issued cursors."""

    words: Sequence[str]
    sentences: Sequence[str]
    recipients: Sequence[str]
    cursors: Sequence["IssuedCursor"] = ()


@dataclass(frozen=True, slots=True)
class IssuedCursor:
    """An issued cursor and the query it was issued for."""

    text: str
    query: str


@dataclass(frozen=True, slots=True)
class GeneratedQuery:
    """The path and query string of one request."""

    path: str
    query: str  # ASCII
    is_forged: bool = False  # the cursor was not issued for this query

    @property
    def target(self) -> str:
        """The request target."""
        return f"{self.path}?{self.query}"


def generate_query(random: Random, vocabulary: QueryVocabulary) -> GeneratedQuery:
    """Generate the next query."""
    if vocabulary.cursors and random.random() < 0.25:
        return _with_cursor(random, vocabulary)
    path = random.choice(PATHS)
    names = list(random.sample(_NAMES, random.randrange(5)))
    needed = {PATHS[1]: "query", PATHS[2]: "payTo"}.get(path)
    if needed and needed not in names and random.random() < 0.95:
        names.append(needed)
    if random.random() < 0.1:
        names.append(random.choice((*names, *_NAMES, "maxUsdPrice", "\x00", "é", "")))
    random.shuffle(names)
    pairs = [
        f"{quote(name, safe='')}{_sign(random)}{_value(random, name, vocabulary)}" for name in names
    ]
    return GeneratedQuery(path, "&".join(pairs)[:20_000])


def _sign(random: Random) -> str:
    return "=" if random.random() < 0.98 else random.choice(("", "==", "&"))


def _value(random: Random, name: str, vocabulary: QueryVocabulary) -> str:
    """Draw a value, percent-encoded, and sometimes malformed."""
    rng = random.random()
    if name == "query" and rng < 0.75:
        text = _search_text(random, vocabulary)
    elif name == "payTo" and rng < 0.6:
        text = random.choice(vocabulary.recipients)
    elif name in _VALID_VALUES and rng < 0.7:
        text = random.choice(_VALID_VALUES[name])
    elif rng < 0.9:
        text = random.choice(HOSTILE_TEXTS)
    else:
        text = "".join(chr(_codepoint(random)) for _ in range(random.randrange(1, 30)))
    encoded = quote(text, safe=random.choice(("", "'()*!:/", "-._~")))
    if random.random() < 0.06:
        position = random.randrange(len(encoded) + 1)
        encoded = encoded[:position] + random.choice(_RAW) + encoded[position:]
    return encoded


def _search_text(random: Random, vocabulary: QueryVocabulary) -> str:
    """Draw a search text, with operators and typing errors."""
    if random.random() < 0.3:
        return random.choice(vocabulary.sentences)
    words = [_word(random, vocabulary) for _ in range(random.randrange(1, 7))]
    if random.random() < 0.3:
        words.insert(random.randrange(len(words) + 1), random.choice(("or", "OR", "and", "not")))
    text = " ".join(words)
    if random.random() < 0.2:
        return f'"{text}"' if random.random() < 0.7 else f'"{text}'
    return text


def _word(random: Random, vocabulary: QueryVocabulary) -> str:
    word = random.choice(vocabulary.words)
    rng = random.random()
    if rng < 0.1 and len(word) > 3:
        position = random.randrange(len(word) - 1)
        return word[:position] + word[position + 1] + word[position] + word[position + 2 :]
    if rng < 0.2:
        return f"-{word}"
    if rng < 0.25:
        return f'"{word}"'
    return random.choice(HOSTILE_TEXTS)[:40] if rng < 0.3 else word


def _codepoint(random: Random) -> int:
    """Draw any code point but a surrogate, which cannot be percent-encoded."""
    while True:
        at = random.choice((0x80, 0x800, 0x3000, 0x10000, 0x110000))
        point = random.randrange(at)
        if not 0xD800 <= point < 0xE000:
            return point


def _with_cursor(random: Random, vocabulary: QueryVocabulary) -> GeneratedQuery:
    """Draw a query with an issued cursor, as issued, with another search, or changed."""
    issued = random.choice(vocabulary.cursors)
    path = "/discovery/search"
    rng = random.random()
    if rng < 0.3:
        return GeneratedQuery(path, f"{issued.query}&cursor={issued.text}")
    if rng < 0.45:
        other = quote(_search_text(random, vocabulary), safe="") or "x"
        return GeneratedQuery(path, f"query={other}%20-zzz&cursor={issued.text}", is_forged=True)
    changed = quote(_change_cursor(random, issued.text), safe="")
    return GeneratedQuery(
        path, f"{issued.query}&cursor={changed}", is_forged=changed != issued.text
    )


def _change_cursor(random: Random, cursor: str) -> str:
    rng = random.random()
    if rng < 0.6:
        raw = bytearray(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        bit = random.randrange(8 * len(raw))
        raw[bit // 8] ^= 1 << bit % 8
        return urlsafe_b64encode(raw).rstrip(b"=").decode()
    if rng < 0.7:
        return cursor[: random.randrange(1, len(cursor))]
    if rng < 0.8:
        return cursor + random.choice(("A", "=", "==", "!", "\n", "é", cursor))
    if rng < 0.9:
        position = random.randrange(len(cursor))
        return cursor[:position] + random.choice("AZaz09-_+/=% ") + cursor[position + 1 :]
    return urlsafe_b64encode(random.randbytes(random.randrange(1, 200))).decode()
