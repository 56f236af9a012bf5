-- replaces a72e6c97fe170355aa027e0a5650b94ca1b0df7c9962ea94683fcca036095a42
SET LOCAL lock_timeout = '5s';

-- What is read every second, asked daily or kept for ever must not cost more with every settlement.
-- What is kept how long: docs/decisions/0032.

-- Both at once and in the order in which settlements take them.
LOCK TABLE settlements, sponsor_spend IN ACCESS EXCLUSIVE MODE;

-- The sponsor's counters: those near a limit are found without reading a day's counters. A level
-- is an eighth of the natural logarithm, so that a counter changes its place in the index some
-- hundred times in its life and not with every settlement; all other updates stay within the page.
ALTER TABLE sponsor_spend
    ADD COLUMN level smallint
        GENERATED ALWAYS AS (CASE WHEN stroops > 0 THEN floor(ln(stroops::float8) * 8) ELSE -1 END)
        STORED;
CREATE INDEX sponsor_spend_level ON sponsor_spend (network, day, scope, level);
CREATE INDEX sponsor_spend_day ON sponsor_spend (day);

-- What a caller's settlements came to, by the UTC day of the claim. Written by the statement that
-- ends a settlement, whichever version of Farebox runs it; what is still pending is counted in the
-- journal, through settlements_unfinished.
CREATE TABLE settlement_usage (
    owner text NOT NULL,
    used_on date NOT NULL,
    network text NOT NULL,
    confirmed bigint NOT NULL DEFAULT 0,
    failed bigint NOT NULL DEFAULT 0,              -- dead and unproven ones included
    fees bigint NOT NULL DEFAULT 0,                -- stroops, charged by the network

    PRIMARY KEY (owner, used_on, network)
) WITH (fillfactor = 70);

CREATE INDEX settlement_usage_day ON settlement_usage (used_on);

CREATE FUNCTION count_ended_settlement() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO settlement_usage AS held (owner, used_on, network, confirmed, failed, fees)
    VALUES (NEW.caller, (NEW.claimed_at AT TIME ZONE 'UTC')::date, NEW.network,
            (NEW.state = 'confirmed')::integer, (NEW.state <> 'confirmed')::integer,
            coalesce(NEW.fee_charged, 0))
    ON CONFLICT (owner, used_on, network) DO UPDATE
    SET confirmed = held.confirmed + excluded.confirmed, failed = held.failed + excluded.failed,
        fees = held.fees + excluded.fees;
    RETURN NULL;
END $$;

-- Nobody ends a settlement before the commit, so that each is counted once: below, or by the trigger.
CREATE TRIGGER settlements_ended AFTER UPDATE ON settlements
    FOR EACH ROW
    WHEN (NEW.caller IS NOT NULL AND OLD.finished_at IS NULL AND NEW.finished_at IS NOT NULL)
    EXECUTE FUNCTION count_ended_settlement();

INSERT INTO settlement_usage (owner, used_on, network, confirmed, failed, fees)
SELECT caller, (claimed_at AT TIME ZONE 'UTC')::date, network,
       count(*) FILTER (WHERE state = 'confirmed'), count(*) FILTER (WHERE state <> 'confirmed'),
       coalesce(sum(fee_charged), 0)
FROM settlements
WHERE caller IS NOT NULL AND finished_at IS NOT NULL
GROUP BY 1, 2, 3;

-- A settlement's row is written five times: what the versions before leave is used again soon.
ALTER TABLE settlements SET (
    autovacuum_vacuum_scale_factor = 0.02, toast.autovacuum_vacuum_scale_factor = 0.02);
ALTER TABLE sponsor_spend SET (autovacuum_vacuum_scale_factor = 0.02);

-- A user whose last sign-in was long ago and who has nothing here is forgotten.
ALTER TABLE users ADD COLUMN signed_in_at timestamptz NOT NULL DEFAULT now();
CREATE INDEX users_signed_in ON users (signed_in_at);
