"""The adversarial cases of plans at the moment they are due."""

from typing import Final

from adversarial.row import section_rows

AUTOMATION_LIFE_ROWS: Final = section_rows(
    "Automation",
    {
        "VA-011": "A check that says no, fails, returns no boolean, writes or never ends.",
        "VA-014": "Plans paused, cancelled or expired as a run is due, and a clock set back.",
    },
)
