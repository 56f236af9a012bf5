-- One transaction of a stranger may use the authorizations of several payments for runs: each of
-- them has paid, and all have its hash.
SET LOCAL lock_timeout = '5s';

ALTER TABLE automation_payments DROP CONSTRAINT automation_payments_tx_hash_key;
