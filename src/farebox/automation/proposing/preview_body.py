"""A preview in its JSON shape."""

from farebox.automation.plan_body import next_run_bodies, quote_body
from farebox.automation.plans.permission_sheet import write_permission_sheet
from farebox.automation.plans.session_spec_xdr import read_spec
from farebox.automation.proposing.preflight_report import preflight_body
from farebox.automation.proposing.propose import PreviewedPlan
from farebox.automation.proposing.wire import PreviewBody
from farebox.automation.session_body import limits_body


def preview_body(previewed: PreviewedPlan) -> PreviewBody:
    """Render a preview."""
    terms, spec = previewed.plan.terms, read_spec(previewed.policy_spec)
    return PreviewBody(
        authority_mode=terms.mode,
        schedule=next_run_bodies(previewed.plan, previewed.now),
        preflight=preflight_body(previewed.report),
        quote=quote_body(previewed.quote),
        permissions=list(write_permission_sheet(terms.network, previewed.policy_spec)),
        limits=limits_body(spec, terms.run_limit),
        warnings=list(previewed.warnings),
    )
