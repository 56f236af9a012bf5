-- concurrently

-- The settlements that reconciliation looks at every hour.
CREATE INDEX CONCURRENTLY settlements_unproven ON settlements (network)
    WHERE state = 'unproven';
