"""The best listings of a query that is open, read together with the request.

Their texts are taken from the snapshot they were found in; the model reads when it is closed.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from farebox.catalog.listing_store import read_documents
from farebox.search.meaning.doubt import Doubt, Read, Verdict
from farebox.search.meaning.senses import Meaning
from farebox.search.model_text import text_beside_request
from farebox.storage.pool import Connection


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """Whether any of these texts answers the request."""

    request: str
    doubt: Doubt
    texts: Sequence[str]  # one a listing of the doubt


async def question_of(db: Connection, request: str, doubt: Doubt) -> OpenQuestion:
    """What there is to read; a listing that was taken down is left out of the doubt."""
    documents = await read_documents(db, doubt.listing_ids)
    above = dict(zip(doubt.listing_ids, doubt.above, strict=True))
    ids = [each.listing_id for each in documents]
    left = Doubt(tuple(ids), tuple(above[each] for each in ids))
    return OpenQuestion(request, left, [text_beside_request(each) for each in documents])


async def settle(question: OpenQuestion, meaning: Meaning) -> Verdict:
    """Whether one of the listings answers the request, as far as can be known in time."""
    doubt = question.doubt
    found = await meaning.log_odds(question.request, question.texts)
    if found is None:
        return Verdict(doubt.is_answered_by_evidence, (), is_in_time=False)
    read = [Read(*each) for each in zip(doubt.above, found, strict=True)]
    return Verdict(any(each.answers for each in read), read)
