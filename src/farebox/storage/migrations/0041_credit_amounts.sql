SET LOCAL lock_timeout = '5s';

-- Credit is an amount in base units of an asset, and a plan spends it at its own price.
ALTER TABLE automation_payments
    ADD COLUMN credit numeric(39, 0) NOT NULL DEFAULT 0 CHECK (credit >= 0),   -- part of the price
    ADD COLUMN install_fee bigint CHECK (install_fee >= 0);   -- simulated; NULL: nothing is installed

ALTER TABLE automation_proposals
    ADD COLUMN credit_asset text,                         -- in which the next two amounts are
    ADD COLUMN credit_held numeric(39, 0) NOT NULL DEFAULT 0 CHECK (credit_held >= 0),   -- for runs
    ADD COLUMN setup_held numeric(39, 0) NOT NULL DEFAULT 0 CHECK (setup_held >= 0),
    ADD COLUMN run_fee bigint CHECK (run_fee >= 0),       -- quoted for a transaction; NULL: free runs
    ADD COLUMN setup_left bigint CHECK (setup_left >= 0);   -- stroops to install and close; NULL: not charged

ALTER TABLE run_credits
    ADD COLUMN asset text NOT NULL DEFAULT '',
    ADD COLUMN amount numeric(39, 0) NOT NULL DEFAULT 0,  -- below 0 for what a plan takes
    ALTER COLUMN runs SET DEFAULT 0,                      -- of old rows; counts for nothing
    DROP CONSTRAINT run_credits_check,
    ADD CHECK (sign(runs) * sign(amount) >= 0 AND (kind = 'consume') = (runs < 0 OR amount < 0));

-- The quoted fee of a run that has used its credit: its failed legs are repeated for no other one.
ALTER TABLE automation_runs ADD COLUMN charged_fee bigint;

-- Fees that no run pays for, by owner, and of all owners together whose runs have hardly succeeded.
ALTER TABLE automation_spend
    DROP CONSTRAINT automation_spend_scope_check,
    ADD CHECK (scope IN ('total', 'owner', 'loss', 'new_owners'));
ALTER TABLE automation_attempts
    ADD COLUMN is_new_owner boolean;                      -- NULL: it counts as no loss
ALTER TABLE automation_sponsored
    ADD COLUMN is_new_owner boolean,                      -- likewise
    ADD COLUMN is_prepaid boolean NOT NULL DEFAULT false; -- from what the plan was charged for setup

-- Quotes were made of runs that are left: they are made again.
UPDATE automation_payments SET valid_until = least(valid_until, clock_timestamp())
WHERE state = 'quoted';
UPDATE automation_payments SET credit = from_credit * per_run
WHERE state <> 'quoted' AND from_credit > 0;

-- What a run has cost the owner of a plan: by the plan's own payments, else by the owner's cheapest.
CREATE TEMPORARY TABLE bought ON COMMIT DROP AS
SELECT p.owner, y.network, y.proposal_id, y.asset, y.quote_revision, y.per_run, y.fee_stroops,
       y.runs, y.from_credit
FROM automation_payments y JOIN automation_proposals p ON p.id = y.proposal_id
WHERE y.state = 'confirmed' AND y.per_run > 0;

CREATE TEMPORARY TABLE cheapest ON COMMIT DROP AS
SELECT DISTINCT ON (owner, network) owner, network, asset, per_run FROM bought
WHERE runs > from_credit ORDER BY owner, network, per_run;

CREATE TEMPORARY TABLE price ON COMMIT DROP AS
SELECT DISTINCT ON (b.proposal_id) b.proposal_id, b.asset, b.fee_stroops,
       sum((b.runs - b.from_credit) * b.per_run
           + b.from_credit * least(b.per_run, coalesce(c.per_run, 0)))
           OVER (PARTITION BY b.proposal_id)
       / sum(b.runs) OVER (PARTITION BY b.proposal_id) AS per_run
FROM bought b LEFT JOIN cheapest c USING (owner, network)
ORDER BY b.proposal_id, b.quote_revision DESC;

-- Open plans hold what their unused runs have cost, and keep the fee that they were quoted. That was
-- of the call alone: a session adds 120,000 stroops to it, and through a mandate it costs four times
-- as much or more. A plan goes on at what its runs have cost.
UPDATE automation_proposals p
SET credit_asset = price.asset,
    run_fee = CASE p.authority_mode
        WHEN 'session' THEN greatest(price.fee_stroops + 120000, cost.most)
        WHEN 'mandate' THEN greatest(4 * price.fee_stroops, cost.most)
        ELSE price.fee_stroops END,
    credit_held = floor((p.runs_credited - p.runs_consumed) * price.per_run)
FROM price CROSS JOIN LATERAL (
    SELECT max(a.fee_charged) AS most
    FROM automation_runs r JOIN automation_attempts a ON a.run_id = r.id
    WHERE r.proposal_id = price.proposal_id AND a.outcome = 'success'
) cost
WHERE price.proposal_id = p.id AND p.status IN ('paid', 'active', 'paused');

-- Runs that no plan holds: the newest ones that came to an owner, at the price they were bought at.
WITH net AS (
    SELECT owner, network, proposal_id, sum(runs) AS runs, max(id) AS id FROM run_credits
    GROUP BY owner, network, proposal_id
), balance AS (
    SELECT owner, network, sum(runs) AS runs FROM net GROUP BY owner, network
), sources AS (
    SELECT n.*, b.runs AS balance,
           coalesce(sum(n.runs) OVER (PARTITION BY n.owner, n.network ORDER BY n.id DESC
               ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS newer
    FROM net n JOIN balance b USING (owner, network) WHERE n.runs > 0
), valued AS (
    SELECT s.owner, s.network, coalesce(price.asset, cheapest.asset) AS asset,
           least(s.runs, greatest(0, s.balance - s.newer))
               * coalesce(price.per_run, cheapest.per_run) AS amount
    FROM sources s
    LEFT JOIN price ON price.proposal_id = s.proposal_id
    LEFT JOIN cheapest ON cheapest.owner = s.owner AND cheapest.network = s.network
)
INSERT INTO run_credits (owner, network, kind, runs, asset, amount, note)
SELECT owner, network, 'grant', 0, asset, floor(sum(amount)), 'runs that were left, as an amount'
FROM valued WHERE amount > 0 GROUP BY owner, network, asset HAVING floor(sum(amount)) > 0;
