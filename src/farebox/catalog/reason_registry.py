"""All codes of resources that are not listed, with their sentences."""

from types import MappingProxyType
from typing import Final

from farebox.catalog import validate
from farebox.catalog.discovery import drop_reason
from farebox.catalog.ingestion import listing_outcome
from farebox.facilitator import listing_report

REASONS: Final = MappingProxyType(
    {
        **{str(reason): sentence for reason, sentence in drop_reason.REGISTRY.items()},
        **{str(reason): sentence for reason, sentence in listing_outcome.SENTENCES.items()},
        listing_outcome.OWNERSHIP_CHECK_PENDING: (
            "The resource's own 402 is being checked for this recipient."
        ),
        **listing_report.SENTENCES,
        **{str(fault): sentence for fault, sentence in validate.SENTENCES.items()},
    }
)
