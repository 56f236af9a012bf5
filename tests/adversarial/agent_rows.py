"""The adversarial cases of the agent interface."""

from typing import Final

from adversarial.row import section_rows

AGENT_ROWS: Final = section_rows(
    "MCP endpoint",
    {
        "MC-017": "Bodies that are too large, too deep, ambiguous, or no Unicode.",
        "MC-019": "Tool names in other spellings.",
        "MC-020": "Searches without a query, or with one that is none.",
        "MC-021": "Limits out of range and of other types.",
        "MC-022": "Networks that do not exist, in every spelling.",
        "MC-023": "Unknown arguments, and names that other languages reserve.",
        "MC-024": "Text against structuredContent, results against the schemas of tools/list.",
        "MC-026": "A paid call to plain HTTP.",
        "MC-030": "Methods in other spellings, a body with GET, a body of another type.",
        "MC-032": "A paid call without a payment.",
        "MC-033": "Targets that refuse the payment, or give no receipt.",
        "MC-035": "A paid call to our own gateway.",
        "MC-038": "One id in many requests at once.",
        "MC-039": "A caller who leaves during a paid call.",
        "MC-040": "The scenarios of the official conformance suite.",
    },
)
