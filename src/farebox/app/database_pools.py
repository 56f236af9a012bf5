"""The three connection pools of a process: what may wait for whom (docs/decisions/0031)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from farebox.app.settings import ConnectionSettings
from farebox.kernel.secret import Secret
from farebox.storage.pool import Database

_MONEY_WAIT_S: Final = 5.0
_READ_WAIT_S: Final = 1.0  # then 503: whoever reads may ask again
_BACKGROUND_WAIT_S: Final = 10.0  # nobody waits for a loop
_STATEMENT_S: Final = 10.0
_READ_S: Final = 5.0
_COUNT_S: Final = 1.0  # the limiter goes on by its own count after that
_CALLERS: Final = 4
_ACCOUNT_WAIT_S: Final = 5.0  # changes of one owner queue; each takes milliseconds
_LISTING_WAIT_S: Final = 2.0
_LISTING_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class Pools:
    """Every connection that a process has to the database, none of them open yet.

    The three pools forbid nesting. The rest are shares of them, so that one purpose leaves some of
    a pool to the others.
    """

    money: Database  # what a settlement waits for, and reconciliation
    reads: Database
    background: Database
    callers: Database  # of money: who sends a request
    counting: Database  # of money: how often that one has asked
    searching: Database  # of reads: browsing and searching
    accounts: Database  # of reads: sign-in, keys, secrets and the audit trail
    listing: Database  # of background: the listings of what was settled
    upkeep: Database  # of background: what the catalog counts, probes and forgets

    @property
    def opened(self) -> Sequence[Database]:
        """The pools, in the order in which they are entered."""
        return self.money, self.reads, self.background


def build_pools(url: Secret[str], sizes: ConnectionSettings) -> Pools:
    """The pools of a process."""

    def pool(name: str, connections: int, *, wait_s: float, statement_s: float) -> Database:
        return Database(
            url,
            connections=connections,
            wait_s=wait_s,
            statement_s=statement_s,
            name=f"farebox-{name}",
            is_pooled=sizes.is_pooled,
            forbids_nesting=True,
        )

    money = pool("money", sizes.money, wait_s=_MONEY_WAIT_S, statement_s=_STATEMENT_S)
    reads = pool("reads", sizes.reads, wait_s=_READ_WAIT_S, statement_s=_READ_S)
    background = pool(
        "background", sizes.background, wait_s=_BACKGROUND_WAIT_S, statement_s=_STATEMENT_S
    )
    most_reads = _most(sizes.reads)
    return Pools(
        money,
        reads,
        background,
        callers=money.share(
            min(_CALLERS, sizes.money // 2), wait_s=_MONEY_WAIT_S, within_s=_READ_S
        ),
        counting=money.share(1, wait_s=_COUNT_S, within_s=_COUNT_S),
        searching=reads.share(most_reads, wait_s=_READ_WAIT_S, within_s=2 * _READ_S),
        accounts=reads.share(most_reads, wait_s=_ACCOUNT_WAIT_S, within_s=2 * _READ_S),
        listing=background.share(
            _most(sizes.background), wait_s=_LISTING_WAIT_S, within_s=_LISTING_S
        ),
        upkeep=background.share(
            sizes.background // 2, wait_s=_BACKGROUND_WAIT_S, within_s=3 * _STATEMENT_S
        ),
    )


def _most(connections: int) -> int:
    """What one purpose takes of a pool: two thirds, and never all."""
    return min(connections - 1, max(1, connections * 2 // 3))
