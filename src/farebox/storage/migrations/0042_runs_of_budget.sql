-- concurrently

-- Runs that wait for a budget: what is given back to it lets them be due. The index names no column
-- that a claim changes, and loses a run that has ended.
CREATE INDEX CONCURRENTLY automation_runs_of_budget ON automation_runs (network, owner)
    WHERE error_class = 'budget' AND finished_at IS NULL;
