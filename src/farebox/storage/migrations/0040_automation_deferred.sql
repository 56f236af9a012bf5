SET LOCAL lock_timeout = '5s';

-- When a plan became active: the entries that were signed ahead are numbered by the due times from
-- there on, whatever was skipped since. NULL for plans that were active before this column.
ALTER TABLE automation_proposals ADD COLUMN activated_at timestamptz;
