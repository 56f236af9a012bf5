-- concurrently

-- The payments that a wallet received or made, newest first.
CREATE INDEX CONCURRENTLY settlements_pay_to ON settlements (pay_to, claimed_at)
    WHERE tx_hash IS NOT NULL;

CREATE INDEX CONCURRENTLY settlements_payer ON settlements (payer, claimed_at)
    WHERE tx_hash IS NOT NULL;
