"""The JSON shapes of proposing: the request of each kind, lists, previews and limits (3.18)."""

from typing import Annotated, Final

import msgspec
from msgspec import Meta

from farebox.automation.plan_body import (
    PreflightBody,
    ProposalBody,
    QuoteBody,
    SessionContractBody,
    SessionLimitsBody,
    UpcomingRunBody,
)
from farebox.automation.plans.session_spec import AuthorityMode
from farebox.automation.plans.wire import (
    AddressText,
    ContractCallSpec,
    DcaSpec,
    DisbursementSpec,
    PlanKind,
    PlanSpec,
    RebalanceSpec,
)
from farebox.automation.schedules.missed_runs import MissedRuns
from farebox.automation.schedules.schedule import Schedule
from farebox.kernel.networks import Network
from farebox.kernel.pages import Moment, PaginationBody, PlaceBody

MAX_TITLE: Final = 80
_MOST_LATE_S: Final = 86_400
_MOST_SAID: Final = 200  # characters of a decoder's words
# what a decoder says with a value or a name of the caller in it
_REPEATS: Final = ("Invalid", "Object contains unknown field")
_OTHER: Final = "It has a member or a value that is not taken here."

TitleText = Annotated[
    str, Meta(min_length=1, max_length=MAX_TITLE, pattern=r"^[^\x00-\x1f\x7f]+$(?!\n)")
]
StroopsText = Annotated[
    str, Meta(pattern=r"^[1-9][0-9]{0,15}$(?!\n)", max_length=16, description="Stroops.")
]
RunCount = Annotated[int, Meta(ge=0, le=1_000_000)]
Lateness = Annotated[int, Meta(ge=0, le=_MOST_LATE_S)]


class ProposalRequest(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    rename="camel",
    forbid_unknown_fields=True,
    tag_field="kind",
):
    """What every kind of plan is proposed with.

    Without `account` it is the caller's own wallet; without `authorityMode` the mode is the one
    that bounds the plan best. `maxFeeStroops` is the most that one transaction may cost.
    """

    network: Network
    title: TitleText
    schedule: Schedule
    run_limit: RunCount
    account: AddressText | None = None
    authority_mode: AuthorityMode | None = None
    missed_runs: MissedRuns | None = None
    max_lateness_seconds: Lateness | None = None
    max_fee_stroops: StroopsText | None = None
    starts_at: Moment | None = None
    expires_at: Moment | None = None
    allow_duplicate: bool = False

    @property
    def kind(self) -> PlanKind:
        """The kind of plan."""
        return PlanKind(str(self.__struct_config__.tag))


class ContractCallRequest(ProposalRequest, frozen=True, kw_only=True, tag="contract_call"):
    """A plan that calls a contract."""

    spec: ContractCallSpec


class DcaRequest(ProposalRequest, frozen=True, kw_only=True, tag="dca"):
    """A plan that buys a token with a fixed amount of another."""

    spec: DcaSpec


class RebalanceRequest(ProposalRequest, frozen=True, kw_only=True, tag="rebalance"):
    """A plan that trades towards weights."""

    spec: RebalanceSpec


class DisbursementRequest(ProposalRequest, frozen=True, kw_only=True, tag="disbursement"):
    """A plan that pays several recipients."""

    spec: DisbursementSpec


ProposeRequest = ContractCallRequest | DcaRequest | RebalanceRequest | DisbursementRequest


class ProposalListBody(msgspec.Struct, frozen=True, rename="camel"):
    """Some of the caller's plans, newest first."""

    items: list[ProposalBody]
    pagination: PaginationBody


class ProposalPlace(PlaceBody):
    """The end of a page of plans."""

    id: Annotated[str, Meta(pattern=r"^auto_[0-9A-Za-z]{22}\Z")]


class PreviewBody(msgspec.Struct, frozen=True, rename="camel"):
    """What a proposal would be; nothing of it is kept.

    The key in `permissions` stands for one that is made for each proposal.
    """

    authority_mode: AuthorityMode
    schedule: list[UpcomingRunBody]
    preflight: PreflightBody
    quote: QuoteBody
    permissions: list[str]
    limits: SessionLimitsBody
    warnings: list[str]


class AutomationNetworkBody(msgspec.Struct, frozen=True, rename="camel"):
    """What automation offers on a network; `isFree`: runs cost nothing there."""

    network: Network
    is_available: bool
    is_free: bool
    modes: list[AuthorityMode]
    contracts: list[SessionContractBody]
    venues: list[str]


class LimitsBody(msgspec.Struct, frozen=True, rename="camel"):
    """The limits of plans (3.3)."""

    open_plans_per_owner: int
    runs: int
    horizon_seconds: int
    calls_per_session: int
    receivers_per_session: int
    receivers_per_batch: int
    presigned_entries: int
    shortest_interval_seconds: int
    shortest_poll_seconds: int
    networks: list[AutomationNetworkBody]


def spec_json(spec: PlanSpec) -> str:
    """The canonical JSON of a payload: its members sorted, those with a default written out."""
    return msgspec.json.encode(spec, order="sorted").decode()


def say_fault(error: Exception) -> str:
    """What a decoder says of a member that it refuses, without values and names of the caller."""
    said = str(error).partition(" - at ")[0]
    return _OTHER if said.startswith(_REPEATS) or len(said) > _MOST_SAID else f"{said}."
