SET LOCAL lock_timeout = '5s';

-- What an envelope may cost is held against the operator's budgets from the moment it is written
-- down; what it did cost stays, the rest is given back by the statement that ends the row.
ALTER TABLE settlements
    ADD COLUMN caller text,                               -- the API key that asked; NULL = none
    ADD COLUMN budget_on date,                            -- the UTC day it counts on; NULL = none
    ADD COLUMN asset_is_named boolean NOT NULL DEFAULT false,  -- named by the operator then
    ADD COLUMN fee_held bigint NOT NULL DEFAULT 0 CHECK (fee_held >= 0),  -- reserved, later spent
    ADD COLUMN fee_lost bigint NOT NULL DEFAULT 0 CHECK (fee_lost >= 0),  -- charged for nothing
    ADD CHECK (budget_on IS NOT NULL OR (fee_held = 0 AND fee_lost = 0));

-- The sums of those columns, moved in the same statement as the rows they sum up.
CREATE TABLE sponsor_spend (
    network text NOT NULL,
    day date NOT NULL,
    scope text NOT NULL
        CHECK (scope IN ('total', 'payer', 'pay_to', 'key', 'asset', 'other_assets', 'payer_loss')),
    name text NOT NULL,            -- an address or a key; '' where the scope has but one counter
    stroops bigint NOT NULL CHECK (stroops >= 0),

    PRIMARY KEY (network, day, scope, name)
) WITH (fillfactor = 70);

-- A network on which the operator has stopped paying.
CREATE TABLE sponsor_stops (
    network text PRIMARY KEY,
    stopped_at timestamptz NOT NULL
);
