-- least: 1
-- The value itself. PostgreSQL moves no volatile expression of a derived table into the SELECT around
-- it, where it would be computed wherever it is named; then it puts the body in place of the call.
CREATE FUNCTION twinframe_once(value anyelement) RETURNS anyelement
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$ SELECT value $$;
