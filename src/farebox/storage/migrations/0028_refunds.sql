SET LOCAL lock_timeout = '5s';

-- The transaction that paid an owed payment back; it counts for one payment.
ALTER TABLE gateway_payments ADD COLUMN refund_hash bytea CHECK (length(refund_hash) = 32);

CREATE UNIQUE INDEX gateway_payments_refund ON gateway_payments (network, refund_hash)
    WHERE refund_hash IS NOT NULL;
CREATE INDEX gateway_payments_owed ON gateway_payments (wrapper_id) WHERE state = 'owed';

-- For the origin documents.
CREATE INDEX wrappers_enabled ON wrappers (updated_at DESC) WHERE is_enabled;
