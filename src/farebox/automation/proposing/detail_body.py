"""A plan as its owner gets it, in its JSON shape."""

from datetime import datetime

from farebox.automation.plan_body import ProposalDetailBody, proposal_body, quote_body
from farebox.automation.proposing.preflight_report import preflight_body
from farebox.automation.proposing.propose import ProposalDetail


def detail_body(detail: ProposalDetail, now: datetime) -> ProposalDetailBody:
    """Render a plan with its quote, its session and its preflight, where it has them."""
    return ProposalDetailBody(
        proposal=proposal_body(detail.row, now),
        quote=None if detail.quote is None else quote_body(detail.quote),
        session=detail.session,
        preflight=None if detail.report is None else preflight_body(detail.report),
    )
