"""Every code that is told of a listing that is not there, with its sentence."""

from types import MappingProxyType
from typing import Final

from farebox.catalog import validate
from farebox.catalog.discovery import drop_reason
from farebox.catalog.ingestion.listing_outcome import NotListed
from farebox.catalog.ingestion.report import CHECKING
from farebox.facilitator import listing_report

NOT_LISTED: Final = MappingProxyType(
    {
        NotListed.BOUND_ELSEWHERE: "The resource is listed with another recipient, and does not "
        "itself ask for payment to this one.",
        NotListed.TOO_MANY: "The recipient has as many listings on this network as one may have.",
        NotListed.NOT_KEPT: "The payment was settled by a request that said something else of the "
        "resource, or nothing.",
        NotListed.FAILED: "An unexpected fault; the operator must look.",
    }
)
REASONS: Final = MappingProxyType(
    {
        **{str(reason): sentence for reason, sentence in drop_reason.REGISTRY.items()},
        **{str(reason): sentence for reason, sentence in NOT_LISTED.items()},
        CHECKING: "The resource is being asked whether it is this recipient's.",
        **listing_report.SENTENCES,
        **{str(fault): sentence for fault, sentence in validate.SENTENCES.items()},
    }
)
