-- concurrently

-- The recipients and keys under a host: `listing_store` has the same expression.
CREATE INDEX CONCURRENTLY listings_host ON listings (
    network, split_part(split_part(url, '/', 3), ':', 1), pay_to);
