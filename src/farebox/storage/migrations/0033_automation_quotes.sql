SET LOCAL lock_timeout = '5s';

-- The parts of a quote, the runs that it takes from the owner's credit, and which call settles it.
ALTER TABLE automation_payments
    ADD COLUMN per_run numeric(39, 0) NOT NULL DEFAULT 0 CHECK (per_run >= 0),
    ADD COLUMN setup numeric(39, 0) NOT NULL DEFAULT 0 CHECK (setup >= 0),
    ADD COLUMN from_credit integer NOT NULL DEFAULT 0,
    ADD COLUMN fee_stroops bigint NOT NULL DEFAULT 0,     -- the simulated network fee of one run
    ADD COLUMN reserved_at timestamptz,                   -- when a payment was presented for it
    ADD COLUMN held_until timestamptz,                    -- until then one call settles it alone
    ADD COLUMN holds integer NOT NULL DEFAULT 0,          -- how many calls have settled it
    ADD COLUMN failure text,                              -- the reason code of a failed payment
    ADD CONSTRAINT automation_payments_from_credit CHECK (from_credit BETWEEN 0 AND runs);
