"""The adversarial cases of ingestion, browsing and searching."""

from typing import Final

from adversarial.row import section_rows

_RULES: Final = section_rows(
    "Ingestion: rules",
    {
        "CT-003": "Words about a resource that cannot be read, or are too many.",
        "CT-005": "Route templates that climb, in every encoding.",
        "CT-010": "Route templates that lead to another host.",
        "CT-011": "Route templates without a form, endless or with control characters.",
        "CT-013": "Two templates of one shape with other names.",
        "CT-014": "A template on a tool.",
        "CT-016": "URLs that are deliberately different.",
        "CT-017": "One place in many spellings, and another that looks alike.",
        "CT-018": "URLs that are no place on the web.",
        "CT-019": "Hosts inside a private network.",
        "CT-025": "Schemas that admit everything, are none, or reach beyond themselves.",
        "CT-026": "A schema that says one thing, and info another.",
        "CT-027": "Kinds that are neither HTTP nor MCP.",
        "CT-028": "Methods that are none of the six.",
        "CT-029": "Tools without a plain name.",
        "CT-035": "Icons on private hosts.",
        "CT-037": "Members that the specification does not name.",
    },
)

_INGESTION: Final = section_rows(
    "Ingestion",
    {
        "CT-001": "A hundred verifications with flawless metadata.",
        "CT-002": "Settles that are refused, pending, or ended by no caller's request.",
        "CT-030": "Several tools and a resource at one URL.",
        "CT-040": "A stranger is the first to be paid for another's resource.",
        "CT-041": "A resource that is slow or silent when its owner is verified.",
        "CT-042": "Payments to oneself.",
        "CT-043": "Thousands of keys of one recipient, some of them at once.",
        "CT-044": "A wrapper's upstream and secrets.",
        "CT-045": "Two settlements of one entry that finish the wrong way round.",
        "CT-048": "Reasons of any length and with line ends in a header.",
    },
)

_QUERIES: Final = section_rows(
    "Browse and search",
    {
        "CT-049": "Limits of nothing, below, beyond all, in words and in other digits.",
        "CT-050": "Offsets below zero, past what a number holds, and very deep ones.",
        "CT-051": "Unknown, repeated and empty filters, and one filter in two spellings.",
        "CT-052": "Filter values that mean something to SQL, to patterns or to JSON paths.",
        "CT-060": "A word in a name or a tag, and the same word in a description.",
        "CT-061": "A wrapper that is switched off.",
        "CT-062": "Ten thousand wrappers at once.",
        "CT-063": "A forged host while addresses are written into an answer.",
    },
)

CATALOG_ROWS: Final = (
    *_RULES,
    *_INGESTION,
    *_QUERIES,
)
