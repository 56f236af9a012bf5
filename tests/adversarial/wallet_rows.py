"""The adversarial cases of signing payments and of the reads of networks, accounts, contracts."""

from typing import Final

from adversarial.row import section_rows

_SIGNING: Final = section_rows(
    "Prepare and complete",
    {
        "WA-001": "Bodies of another shape, unknown members, members that stand twice.",
        "WA-002": "Terms that no facilitator would accept.",
        "WA-003": "An operator's account as payer or recipient, the payer as its own recipient.",
        "WA-004": "Payers that are muxed, or no address.",
        "WA-005": "Entries that are cut, damaged, signed, of other credentials or addresses.",
        "WA-006": "An entry for other terms, another call, or calls below it.",
        "WA-007": "Signatures of another length, key, payment or network.",
        "WA-008": "A contract's signature that is deep, wide, large or no value.",
        "WA-009": "A contract's signature that its account refuses.",
        "WA-010": "An entry that has expired, expires too soon, or far too late.",
        "WA-011": "Resource and extensions that are no objects.",
        "WA-012": "A node that is away.",
        "WA-013": "Signatures and entries in the log.",
    },
)

_READS: Final = section_rows(
    "Networks, accounts, contracts",
    {
        "WA-020": "Addresses, networks and assets in every wrong spelling.",
        "WA-021": "More assets than are read, and one of them many times.",
        "WA-022": "A token whose balance never ends, fails, or is no amount.",
        "WA-023": "An asset contract's name on another contract.",
        "WA-024": "Code whose description is noise, endless, nested or full of words.",
        "WA-025": "Entries of the node that cannot be read, and no response.",
        "WA-026": "Many reads at once while a payment settles.",
        "WA-027": "A database that does not answer while networks are listed.",
    },
)

WALLET_ROWS: Final = (*_SIGNING, *_READS)
