"""The sealed values of automation: delegate keys, pre-signed entries and envelopes of attempts."""

from typing import Final

from farebox.vault.sealed_column_store import SealedColumn
from farebox.vault.sealed_rows import SealedDomain

DELEGATES: Final = "automation delegate"  # domains
ENTRIES: Final = "automation entry"
ENVELOPES: Final = "automation envelope"
DELEGATE_PURPOSE: Final = "delegate"  # of the associated data
ENTRY_PURPOSE: Final = "presigned"
ENVELOPE_PURPOSE: Final = "envelope"

SEALED_DOMAINS: Final = (
    SealedDomain(
        DELEGATES,
        SealedColumn("automation_proposals", "delegate_key", "owner", "id", DELEGATE_PURPOSE),
    ),
    SealedDomain(
        ENTRIES,
        SealedColumn(
            "automation_presigned",
            "entry",
            "(SELECT p.owner FROM automation_proposals p WHERE p.id = proposal_id)",
            "proposal_id || ' ' || run_index || ' ' || leg_index",
            ENTRY_PURPOSE,
        ),
    ),
    SealedDomain(
        ENVELOPES,
        SealedColumn(
            "automation_attempts", "envelope", "owner", "run_id || ' ' || number", ENVELOPE_PURPOSE
        ),
    ),
)
