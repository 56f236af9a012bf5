SET LOCAL lock_timeout = '5s';

-- Which attempt took the success: the process that made it may repeat the statement whose answer it
-- lost, and take it again.
ALTER TABLE settlements ADD COLUMN answered_by uuid;
