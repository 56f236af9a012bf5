SET LOCAL lock_timeout = '5s';

-- How many installations of an owner, and of its plans, the paymaster has paid for today.
CREATE INDEX automation_sponsored_installs ON automation_sponsored (owner, network, created_at)
    WHERE purpose = 'install' AND outcome <> 'dead';
