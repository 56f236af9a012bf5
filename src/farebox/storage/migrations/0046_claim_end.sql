SET LOCAL lock_timeout = '5s';

-- The end of the call that claimed the payment: until then it may replace an envelope that is dead.
-- Replicas may have other deadlines. NULL for older rows.
ALTER TABLE settlements ADD COLUMN ends_by timestamptz;
