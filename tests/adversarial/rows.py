"""Every adversarial case, in one table."""

from typing import Final

from adversarial.account_rows import ACCOUNT_ROWS
from adversarial.agent_rows import AGENT_ROWS
from adversarial.automation_life_rows import AUTOMATION_LIFE_ROWS
from adversarial.automation_rows import AUTOMATION_ROWS
from adversarial.catalog_rows import CATALOG_ROWS
from adversarial.gateway_rows import GATEWAY_ROWS
from adversarial.payment_rows import PAYMENT_ROWS
from adversarial.proposal_rows import PROPOSAL_ROWS
from adversarial.reliability_rows import RELIABILITY_ROWS
from adversarial.wallet_rows import WALLET_ROWS

ROWS: Final = (
    *PAYMENT_ROWS,
    *RELIABILITY_ROWS,
    *CATALOG_ROWS,
    *GATEWAY_ROWS,
    *AGENT_ROWS,
    *ACCOUNT_ROWS,
    *WALLET_ROWS,
    *AUTOMATION_ROWS,
    *AUTOMATION_LIFE_ROWS,
    *PROPOSAL_ROWS,
)
