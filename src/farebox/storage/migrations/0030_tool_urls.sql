-- concurrently

-- A URL that is only that of a tool: paid_call refuses it and names the tool's server.
CREATE INDEX CONCURRENTLY listings_tools ON listings (url) WHERE type = 'mcp';
