"""A document that may be shown, with what decides where it stands."""

from datetime import datetime
from typing import NamedTuple


class Candidate(NamedTuple):
    """One version of a document and how it met the query's probes."""

    document_id: int
    listing_id: int
    updated_at: datetime
    payers: int
    digest: bytes
    ranks: tuple[float, ...]  # one a probe, 0 = not met; see `stage_store`
