-- concurrently

-- Confirmed payments in the order in which they ended, for the count of independent payers (0010).
CREATE INDEX CONCURRENTLY settlements_confirmed ON settlements (finished_at)
    WHERE state = 'confirmed';

-- A caller's settlements, by day (0016).
CREATE INDEX CONCURRENTLY settlements_caller ON settlements (caller, claimed_at)
    WHERE caller IS NOT NULL;

-- The envelope of a settlement that is final may go: it is empty then. One whose outcome cannot be
-- proven keeps it for the operator (0017).
CREATE INDEX CONCURRENTLY settlements_prunable ON settlements (network, expires_at_ledger)
    WHERE envelope <> '' AND state IN ('confirmed', 'failed', 'dead');
