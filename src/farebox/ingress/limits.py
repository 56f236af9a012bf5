"""What is limited: so many requests a minute of one asker."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

WINDOW: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Limit:
    """`most` requests a minute of each asker, counted apart from every other `what`; 0 = off.

    A minute is one of the clock, the database's: whoever is refused waits for the next one.
    """

    what: str
    most: int

    def name(self, who: str) -> str:
        """Under which name the requests of `who` are counted."""
        return f"{self.what} {who}"


def window_of(moment: datetime) -> datetime:
    """When the minute began in which `moment` lies."""
    return moment.replace(second=0, microsecond=0)
