"""The adversarial cases of automation."""

from typing import Final

from adversarial.row import section_rows

AUTOMATION_ROWS: Final = section_rows(
    "Automation",
    {
        "VA-010": "A disbursement whose runs and authorizations differ, used once too often.",
        "VA-013": "A target that asks for the authority of paymaster, channel or executor.",
    },
)
