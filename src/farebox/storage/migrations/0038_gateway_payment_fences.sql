SET LOCAL lock_timeout = '5s';

-- `settlements` first, which every landing locks first: the two never wait for each other.
-- When a settlement was restored that a fail-over had lost: nobody knows whether it was answered.
ALTER TABLE settlements
    ADD COLUMN restored_at timestamptz,
    -- The success of a payment that landed in another transaction is taken as well.
    DROP CONSTRAINT settlements_check2,
    ADD CONSTRAINT settlements_answered
        CHECK (answered_at IS NULL OR state = 'confirmed' OR landed_hash IS NOT NULL) NOT VALID;

-- SHA-256 of the PAYMENT-SIGNATURE that presented the payment first; NULL in older rows.
ALTER TABLE gateway_payments ADD COLUMN presented_digest bytea;
-- Grows with every hold and every attempt: with `attempts`, which replicas of the version before
-- raise alone, the fencing token of whoever has the payment.
ALTER TABLE gateway_payments ADD COLUMN epoch bigint NOT NULL DEFAULT 0;
-- The reconciler looks at the payment again then; NULL: as soon as nobody attends to it.
ALTER TABLE gateway_payments ADD COLUMN next_look_at timestamptz;
-- Whether a reservation is among the requests in progress of its wrapper.
ALTER TABLE gateway_payments ADD COLUMN is_counted boolean NOT NULL DEFAULT true;

UPDATE gateway_payments SET epoch = attempts WHERE state IN ('reserved', 'paid');
