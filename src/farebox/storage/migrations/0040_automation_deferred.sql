-- When a plan became active: the entries that were signed ahead are numbered by the due times from
-- there on, whatever was skipped since. NULL for plans that were active before this column.
ALTER TABLE automation_proposals ADD COLUMN activated_at timestamptz;

-- Runs that wait for a budget: what is given back to it lets them be due. The index names no column
-- that a claim changes.
CREATE INDEX automation_runs_of_budget ON automation_runs (network, owner)
    WHERE error_class = 'budget';
