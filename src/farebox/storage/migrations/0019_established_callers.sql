SET LOCAL lock_timeout = '5s';

-- Whether the wallet's account was on the ledger at a sign-in: a key pair that never was costs
-- nothing to make. Of those who signed in before only contract accounts are known to have been.
ALTER TABLE users ADD COLUMN was_on_ledger boolean NOT NULL DEFAULT false;
UPDATE users SET was_on_ledger = true WHERE address LIKE 'C%';

-- Whose key budget a settlement counts on; NULL: an older version wrote it, and `caller` says so.
ALTER TABLE settlements ADD COLUMN budget_owner text;

COMMENT ON COLUMN settlements.fee_lost IS
    'charged for nothing; while the envelope is unresolved the most that may be';
