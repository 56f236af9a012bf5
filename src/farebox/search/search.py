"""Search the catalog: a query, filters and a cursor become a page of listings in their order."""

from dataclasses import dataclass, replace
from itertools import islice
from typing import Final

from farebox.catalog.browsing.store import get_listings
from farebox.catalog.listing import Listing, ListingFilters
from farebox.kernel.clock import Clock
from farebox.kernel.error_codes import ErrorCode
from farebox.kernel.errors import Outage, Refusal
from farebox.kernel.secret import Secret
from farebox.kernel.slots import AnyPurpose, NoSlot, Requester, Share, SlotLimits, Slots
from farebox.search.finding.candidates import Candidates, Result
from farebox.search.finding.cursor import BadCursor, Standpoint, read_cursor, write_cursor
from farebox.search.finding.explain import QueryExplanation, WhyThere, explain_page
from farebox.search.finding.first_page import FirstPage
from farebox.search.finding.gather import Gathering
from farebox.search.finding.key_store import read_cursor_key
from farebox.search.finding.rank import Place
from farebox.search.finding.stage_store import read_snapshot
from farebox.search.finding.walk import Walk
from farebox.search.finding.walks import no_walks
from farebox.search.meaning.doubt import Verdict
from farebox.search.meaning.second_reading import OpenQuestion, question_of, settle
from farebox.search.meaning.senses import Meaning, Meanings
from farebox.search.query.asked import AnalyzedQuery
from farebox.search.query.understand import Understanding
from farebox.search.scope import Scope, View
from farebox.search.scope_store import ONE_PLAN
from farebox.search.vocabulary.alternative import Words
from farebox.search.vocabulary.lexicon import SMALL, Lexicon
from farebox.storage.pool import Connection, Database

DEFAULT_LIMIT: Final = 20
MAX_LIMIT: Final = 100
_SLOT_S: Final = 3.0  # the longest wait of a search for one of the connections


class QueryRequired(Refusal):
    """There is nothing to search for."""

    def __init__(self) -> None:
        super().__init__(ErrorCode.QUERY_REQUIRED)


class SearchesBusy(Outage):
    """The searches of others take all connections."""

    def __init__(self) -> None:
        super().__init__("search", "too many searches are under way")


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What a caller searches for."""

    query: str
    filters: ListingFilters = ListingFilters()  # noqa: RUF009 - a frozen value
    limit: int = DEFAULT_LIMIT  # at least 1
    cursor: str | None = None
    is_explained: bool = False


@dataclass(frozen=True, slots=True)
class Hit:
    """One listing of a page; `why` only where an explanation was asked for."""

    listing: Listing
    why: WhyThere | None = None


@dataclass(frozen=True, slots=True)
class SearchPage:
    """Results in their order; `cursor` None exactly when there are no more."""

    hits: tuple[Hit, ...]
    limit: int
    cursor: str | None
    is_truncated: bool  # a bound cut the candidates: more fit than all pages show
    explanation: QueryExplanation | None = None


class Search:
    """The use case; `meaning`, `meanings` and `words` may be absent."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        *,
        meaning: Meaning | None = None,
        meanings: Meanings | None = None,
        words: Words | None = None,
        small_below: int = SMALL,
    ) -> None:
        self._database, self._clock = database, clock
        most = database.connections
        limits = SlotLimits(most, per_client=most, wait_s=_SLOT_S, next_wait_s=_SLOT_S)
        self._slots = Slots.undivided(limits)
        self._meaning = meaning
        self._meanings = meanings
        self._understanding = Understanding(
            database,
            Lexicon(database, clock, small_below=small_below),
            meaning=meaning,
            words=words,
        )
        self._first = FirstPage(meaning=meaning, meanings=meanings)
        self._walks = no_walks()
        self._key: Secret[bytes] | None = None

    async def find(self, request: SearchRequest, *, client: str = "") -> SearchPage:
        """The page of results that the request names.

        Every page of a walk shows the catalog as it was when the first was made; what has been
        taken out since is left out. `client` is who searches, under the name of its share: of
        those that wait, who has the fewest searches under way is next.

        Raises:
            QueryRequired: the query is blank.
            BadCursor: the cursor is not of this search, or too old.
            SearchesBusy: too many others are under way.
            DatabaseUnavailable: the database is away.
        """
        if not request.query.strip():
            raise QueryRequired
        try:
            async with self._slots.hold(Requester(AnyPurpose.ANY, Share(client))):
                return await self._find(request)
        except NoSlot:
            raise SearchesBusy from None

    async def _find(self, request: SearchRequest) -> SearchPage:
        key = await self._signing_key()
        point = self._standpoint(key, request)
        if point is None:
            return await self._first_page(key, request)
        async with self._database.snapshot(ONE_PLAN) as db:
            candidates = await self._of_walk(db, point.walk, request.filters)
            return await self._page(db, key, request, point.walk, candidates, after=point.last)

    async def _first_page(self, key: Secret[bytes], request: SearchRequest) -> SearchPage:
        asked = await self._understanding.ask(request.query, request.filters)
        try:
            while (found := await self._look(key, request, asked)) is None:
                asked = await self._understanding.widen(asked)
        finally:
            asked.leave()
        page, question = found
        if question is None or self._meaning is None:
            return page
        return _after(page, await settle(question, self._meaning))

    async def _look(
        self, key: Secret[bytes], request: SearchRequest, asked: AnalyzedQuery
    ) -> tuple[SearchPage, OpenQuestion | None] | None:
        """The page and whether it is open that it answers; None: more is to be understood first."""
        async with self._database.snapshot(ONE_PLAN) as db:
            scope = Scope(View(self._clock.now()), request.filters)
            gathering = await self._first.gather(db, scope, asked)
            if gathering is None:
                return None
            walk, candidates = gathering.walk, gathering.candidates
            page = await self._page(db, key, request, walk, candidates, after=None)
            doubt = candidates.doubt() if page.hits else None
            question = None if doubt is None else await question_of(db, asked.read_as, doubt)
            return page, question

    def _standpoint(self, key: Secret[bytes], request: SearchRequest) -> Standpoint | None:
        if request.cursor is None:
            return None
        point = read_cursor(
            key, request.cursor, request.query, request.filters, now=self._clock.now()
        )
        if point.walk.model not in ("", "" if self._meaning is None else self._meaning.name):
            words = "The service has changed since the cursor was made: search again without it."
            raise BadCursor(ErrorCode.CURSOR_EXPIRED, words)
        return point

    async def _of_walk(self, db: Connection, walk: Walk, filters: ListingFilters) -> Candidates:
        """What the walk's first page found, found again where that is not known any more."""
        candidates = self._walks.get((walk, filters))
        if candidates is None:
            candidates = Candidates.of(walk)
            scope = Scope(View(walk.at, walk.snapshot), filters)
            await Gathering(db, scope, walk, candidates).replay(self._meanings)
            self._walks.put((walk, filters), candidates)
        return candidates

    async def _page(
        self,
        db: Connection,
        key: Secret[bytes],
        request: SearchRequest,
        walk: Walk,
        candidates: Candidates,
        *,
        after: Place | None,
    ) -> SearchPage:
        shown = await _shown(db, candidates, after=after, count=request.limit + 1)
        page, rest = shown[: request.limit], shown[request.limit :]
        cursor = None
        if rest:
            if after is None:
                walk = replace(walk, snapshot=await read_snapshot(db))
                self._walks.put((walk, request.filters), candidates)
            last = Standpoint(walk, page[-1][0].place)
            cursor = write_cursor(key, request.query, request.filters, last)
        explanation: QueryExplanation | None = None
        whys: list[WhyThere | None] = [None] * len(page)
        if request.is_explained:
            explanation, whys = await explain_page(db, walk, [own for own, _ in page])
        return SearchPage(
            hits=tuple(Hit(own, why) for (_, own), why in zip(page, whys, strict=True)),
            limit=request.limit,
            cursor=cursor,
            is_truncated=walk.is_truncated and bool(page),
            explanation=explanation,
        )

    async def _signing_key(self) -> Secret[bytes]:
        if self._key is None:
            async with self._database.connection() as db:
                self._key = await read_cursor_key(db)
        return self._key


def _after(page: SearchPage, verdict: Verdict) -> SearchPage:
    """The page, or an empty one where nothing on it answers."""
    explanation = page.explanation and replace(page.explanation, verdict=verdict)
    if verdict.is_answered:
        return replace(page, explanation=explanation)
    return replace(page, hits=(), cursor=None, is_truncated=False, explanation=explanation)


async def _shown(
    db: Connection, candidates: Candidates, *, after: Place | None, count: int
) -> list[tuple[Result, Listing]]:
    """The first `count` results behind `after` that are still listed."""
    ranked = candidates.ranked(after=after)
    shown: list[tuple[Result, Listing]] = []
    while batch := list(islice(ranked, count - len(shown))):
        listings = await get_listings(db, [own.listing_id for _, own in batch])
        by_id = {listing.id: listing for listing in listings}
        shown += [
            (candidates.result(place, own), by_id[own.listing_id])
            for place, own in batch
            if own.listing_id in by_id
        ]
    return shown
