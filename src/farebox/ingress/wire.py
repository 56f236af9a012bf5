"""The body of `/v1/usage`."""

import msgspec

from farebox.ingress.usage_day import Period, UsageDay


class VerificationsBody(msgspec.Struct, rename="camel", frozen=True):
    """Answers of `/verify`."""

    accepted: int
    refused: int


class SettlementsBody(msgspec.Struct, rename="camel", frozen=True):
    """Settlements by what became of them; `refused` are answers before anything was sent."""

    accepted: int
    failed: int
    pending: int
    refused: int


class UsageDayBody(msgspec.Struct, rename="camel", frozen=True):
    """One UTC day on one network; `feesSponsored` in stroops."""

    date: str
    network: str
    verifications: VerificationsBody
    settlements: SettlementsBody
    fees_sponsored: str


class UsageResponse(msgspec.Struct, rename={"first": "from", "last": "to"}, frozen=True):
    """Days on which nothing was used are left out; the newest is first."""

    first: str
    last: str
    items: list[UsageDayBody]


def usage_response(period: Period, days: list[UsageDay]) -> UsageResponse:
    """The answer of `/v1/usage`."""
    return UsageResponse(
        first=period.first.isoformat(),
        last=period.last.isoformat(),
        items=[_day(day) for day in days],
    )


def _day(day: UsageDay) -> UsageDayBody:
    answered, settled = day.answered, day.settled
    return UsageDayBody(
        date=day.used_on.isoformat(),
        network=day.network.value,
        verifications=VerificationsBody(answered.verify_accepted, answered.verify_refused),
        settlements=SettlementsBody(
            accepted=settled.confirmed,
            failed=settled.failed,
            pending=settled.pending,
            refused=answered.settle_refused,
        ),
        fees_sponsored=str(settled.fees),
    )
