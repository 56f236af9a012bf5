"""Synthetic listings: the same ones for the same seed, each a function of nothing but its turn."""

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
        """What makes it one of its network."""
        return f"{self.url}#{self.tool_name}" if self.tool_name else self.url


class Generator:
    """Draws listings from one vocabulary; what it gives depends on the seed and the turn alone.

    The later its turn, the fresher a listing, as in the order they are written in; one in
    `_SCATTERED` was paid for at any other time. `size` is how many there are to be.
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
        """One listing."""
        chance = random.Random(self._seed * 1_000_003 + number)
        turn = chance.choices(range(len(TOPICS)), cum_weights=self._topic_weights)[0]
        topic = TOPICS[turn]
        own = self._own_words(chance, topic, 4)
        brand = self._rare(chance) + chance.choice(("", "", self._rare(chance)))
        is_mcp = chance.random() < _MCP_SHARE
        return Synthetic(
            number=number,
            type=ListingType.MCP if is_mcp else ListingType.HTTP,
            network=Network.TESTNET if chance.random() < _TESTNET_SHARE else Network.PUBNET,
            url=f"https://{brand}{number}.example/v1/{own[0]}/{own[1]}",
            tool_name=f"{chance.choice(('get', 'find', 'make'))}_{own[0]}_{own[2]}" * is_mcp,
            service_name=self._name(chance, brand, own),
            tags=self._tags(chance, own),
            description=self._description(chance, topic),
            parameters=self._parameters(chance, topic),
            pay_to=chance.choices(self._sellers, cum_weights=self._seller_weights)[0],
            amount=chance.choice((1000, 5000, 10_000, 50_000, 100_000, 1_000_000)),
            age_s=self._age_s(chance, number),
            payers=tuple(
                chance.sample(self._payers, min(_MOST_PAYERS, int(chance.paretovariate(1.6))))
            ),
            topic=turn,
        )

    def _age_s(self, chance: random.Random, number: int) -> int:
        part = max(0.0, 1 - number / self._size)
        if number % _SCATTERED == 0:
            part = chance.random()
        return int(_OLDEST_S * part**2)

    def _who_paid(self, chance: random.Random) -> tuple[Address, ...]:
        count = min(_MOST_PAYERS, int(chance.paretovariate(1.6)))
        return tuple(chance.sample(self._payers, count))

    def _own_words(self, chance: random.Random, topic: Topic, count: int) -> list[str]:
        weights = self._word_weights[len(topic.words)]
        return chance.choices(topic.words, cum_weights=weights, k=count)

    def _rare(self, chance: random.Random) -> str:
        return self.words[chance.randrange(2000, len(self.words))]

    def _name(self, chance: random.Random, brand: str, own: list[str]) -> str:
        parts = [brand.capitalize(), own[0].capitalize()]
        if chance.random() < 0.4:
            parts.append(own[3].capitalize())
        if chance.random() < 0.6:
            parts.append(chance.choice(_KINDS).capitalize())
        return " ".join(dict.fromkeys(parts))[:32]

    def _tags(self, chance: random.Random, own: list[str]) -> tuple[str, ...]:
        more = chance.choices(self.words, cum_weights=self._weights, k=2)
        return tuple(dict.fromkeys([own[0], own[1], *more]))[: chance.randint(1, 5)]

    def _description(self, chance: random.Random, topic: Topic) -> str:
        length = chance.randint(*_DESCRIPTION)
        plain = chance.choices(self.words, cum_weights=self._weights, k=length)
        own = iter(self._own_words(chance, topic, length))
        for place in range(length):
            drawn = chance.random()
            if drawn < _GLUE_SHARE:
                plain[place] = GLUE[int(len(GLUE) * chance.random() ** 2)]
            elif drawn < _GLUE_SHARE + _TOPIC_SHARE:
                plain[place] = next(own)
        if chance.random() < 0.3:
            plain.append(chance.choice(PLACES).capitalize())
        return " ".join(plain).capitalize() + "."

    def _parameters(self, chance: random.Random, topic: Topic) -> str:
        names = self._own_words(chance, topic, chance.randint(1, 3))
        plain = chance.choices(self.words, cum_weights=self._weights, k=chance.randint(2, 9))
        return " ".join(itertools.chain(names, plain))


def _party(kind: str, number: int) -> Address:
    return account_address(hashlib.sha256(f"{kind} {number}".encode()).digest())
