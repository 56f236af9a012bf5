"""Synthetic listings, each a function of seed and number alone."""

import hashlib
import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from bench.search_topics import TOPICS, Topic
from bench.search_words import GLUE, PLACES, frequencies, vocabulary
from farebox.catalog.listing import ListingType
from farebox.kernel.addresses import Address, account_address
from farebox.kernel.networks import Network

SEED: Final = 402
_SELLERS: Final = 50_000
_SELLER_SHIFT: Final = 130.0  # the largest has about as many listings as one recipient may
_PAYERS: Final = 20_000
_MOST_PAYERS: Final = 40
_OLDEST_S: Final = 400 * 86_400
_SCATTERED: Final = 5
_MCP_SHARE: Final = 0.2
_TESTNET_SHARE: Final = 0.6
_DESCRIPTION: Final = (8, 45)  # words
_TOPIC_SHARE: Final = 0.22  # of a description's words
_GLUE_SHARE: Final = 0.35
_KINDS: Final = ("api", "hub", "feed", "service", "tools", "cloud", "labs", "agent", "data", "pro")


@dataclass(frozen=True, slots=True)
class Synthetic:
    """One listing before it is written anywhere."""

    number: int  # from 1
    type: ListingType
    network: Network
    url: str
    tool_name: str
    service_name: str
    tags: tuple[str, ...]
    description: str
    parameters: str
    pay_to: Address
    amount: int
    age_s: int
    payers: tuple[Address, ...]
    topic: int  # which of TOPICS

    @property
    def key(self) -> str:
        """The unique key within its network."""
        return f"{self.url}#{self.tool_name}" if self.tool_name else self.url


class Generator:
    """Draws listings from one vocabulary, by seed and number alone.

    The higher its number, the fresher a listing; one in `_SCATTERED` has a random age. `size` is
    the total number of listings.
    """

    def __init__(self, seed: int = SEED, *, size: int = 1_000_000) -> None:
        self._seed, self._size = seed, size
        self.words = vocabulary(seed)
        self._weights = frequencies(len(self.words))
        self._topic_weights = frequencies(len(TOPICS))
        self._word_weights = {len(each.words): frequencies(len(each.words)) for each in TOPICS}
        self._sellers = [_party("seller", number) for number in range(_SELLERS)]
        self._seller_weights = frequencies(_SELLERS, shift=_SELLER_SHIFT)
        self._payers = [_party("payer", number) for number in range(_PAYERS)]

    def listings(self, first: int, count: int) -> Iterator[Synthetic]:
        """The listings from `first` (counted from 1) on."""
        for number in range(first, first + count):
            yield self.listing(number)

    def listing(self, number: int) -> Synthetic:
        """Draw one listing."""
        rng = random.Random(self._seed * 1_000_003 + number)
        turn = rng.choices(range(len(TOPICS)), cum_weights=self._topic_weights)[0]
        topic = TOPICS[turn]
        own = self._own_words(rng, topic, 4)
        brand = self._rare(rng) + rng.choice(("", "", self._rare(rng)))
        is_mcp = rng.random() < _MCP_SHARE
        return Synthetic(
            number=number,
            type=ListingType.MCP if is_mcp else ListingType.HTTP,
            network=Network.TESTNET if rng.random() < _TESTNET_SHARE else Network.PUBNET,
            url=f"https://{brand}{number}.example/v1/{own[0]}/{own[1]}",
            tool_name=f"{rng.choice(('get', 'find', 'make'))}_{own[0]}_{own[2]}" * is_mcp,
            service_name=self._name(rng, brand, own),
            tags=self._tags(rng, own),
            description=self._description(rng, topic),
            parameters=self._parameters(rng, topic),
            pay_to=rng.choices(self._sellers, cum_weights=self._seller_weights)[0],
            amount=rng.choice((1000, 5000, 10_000, 50_000, 100_000, 1_000_000)),
            age_s=self._age_s(rng, number),
            payers=tuple(rng.sample(self._payers, min(_MOST_PAYERS, int(rng.paretovariate(1.6))))),
            topic=turn,
        )

    def _age_s(self, rng: random.Random, number: int) -> int:
        part = max(0.0, 1 - number / self._size)
        if number % _SCATTERED == 0:
            part = rng.random()
        return int(_OLDEST_S * part**2)

    def _own_words(self, rng: random.Random, topic: Topic, count: int) -> list[str]:
        weights = self._word_weights[len(topic.words)]
        return rng.choices(topic.words, cum_weights=weights, k=count)

    def _rare(self, rng: random.Random) -> str:
        return self.words[rng.randrange(2000, len(self.words))]

    def _name(self, rng: random.Random, brand: str, own: list[str]) -> str:
        parts = [brand.capitalize(), own[0].capitalize()]
        if rng.random() < 0.4:
            parts.append(own[3].capitalize())
        if rng.random() < 0.6:
            parts.append(rng.choice(_KINDS).capitalize())
        return " ".join(dict.fromkeys(parts))[:32]

    def _tags(self, rng: random.Random, own: list[str]) -> tuple[str, ...]:
        more = rng.choices(self.words, cum_weights=self._weights, k=2)
        return tuple(dict.fromkeys([own[0], own[1], *more]))[: rng.randint(1, 5)]

    def _description(self, rng: random.Random, topic: Topic) -> str:
        length = rng.randint(*_DESCRIPTION)
        plain = rng.choices(self.words, cum_weights=self._weights, k=length)
        own = iter(self._own_words(rng, topic, length))
        for place in range(length):
            drawn = rng.random()
            if drawn < _GLUE_SHARE:
                plain[place] = GLUE[int(len(GLUE) * rng.random() ** 2)]
            elif drawn < _GLUE_SHARE + _TOPIC_SHARE:
                plain[place] = next(own)
        if rng.random() < 0.3:
            plain.append(rng.choice(PLACES).capitalize())
        return " ".join(plain).capitalize() + "."

    def _parameters(self, rng: random.Random, topic: Topic) -> str:
        names = self._own_words(rng, topic, rng.randint(1, 3))
        plain = rng.choices(self.words, cum_weights=self._weights, k=rng.randint(2, 9))
        return " ".join(itertools.chain(names, plain))


def _party(kind: str, number: int) -> Address:
    return account_address(hashlib.sha256(f"{kind} {number}".encode()).digest())
