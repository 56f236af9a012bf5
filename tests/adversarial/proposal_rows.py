"""The adversarial cases of proposing plans."""

from typing import Final

from adversarial.row import section_rows

PROPOSAL_ROWS: Final = section_rows(
    "Automation: proposals",
    {
        "VA-012": "A plan's contract, function or amount, changed after its session was made.",
        "VA-016": "The policy of equal plans, and of equal members in another order.",
    },
)
