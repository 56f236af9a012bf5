"""All codes of resources that are not listed, with their sentences."""

from types import MappingProxyType
from typing import Final

from farebox.catalog import validate
from farebox.catalog.discovery import drop_reason
from farebox.catalog.ingestion.listing_outcome import OWNERSHIP_CHECK_PENDING, RejectionReason
from farebox.facilitator import listing_report

_REJECTIONS: Final = MappingProxyType(
    {
        RejectionReason.BOUND_ELSEWHERE: "The resource, or another one of its host, is listed with "
        "another recipient, and its own 402 does not confirm this one.",
        RejectionReason.TOO_MANY: "The recipient has the most listings that one recipient may have "
        "under a host, and the resource's own 402 does not confirm this one.",
        RejectionReason.NOT_KEPT: "The request that settled the payment had other discovery data, "
        "or none.",
        RejectionReason.GATEWAY_URL: "The URL is one of this service's hosts: only sales at its "
        "gateway count for it.",
        RejectionReason.FAILED: "An unexpected fault; the operator must look.",
    }
)
REASONS: Final = MappingProxyType(
    {
        **{str(reason): sentence for reason, sentence in drop_reason.REGISTRY.items()},
        **{str(reason): sentence for reason, sentence in _REJECTIONS.items()},
        OWNERSHIP_CHECK_PENDING: "The resource's own 402 is being checked for this recipient.",
        **listing_report.SENTENCES,
        **{str(fault): sentence for fault, sentence in validate.SENTENCES.items()},
    }
)
