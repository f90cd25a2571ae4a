-- The tables of one graph on PostgreSQL, and the functions that compiled queries call. A document is
-- `json`, which keeps the spelling of numbers (1 is no 1.0) and the order of members.

CREATE TABLE interface (
  id bigint PRIMARY KEY,
  dtmi text COLLATE "C" NOT NULL UNIQUE,
  name text COLLATE "C" NOT NULL,
  position bigint
);
CREATE TABLE interface_closure (
  ancestor bigint NOT NULL REFERENCES interface,
  descendant bigint NOT NULL REFERENCES interface,
  PRIMARY KEY (ancestor, descendant)
);
CREATE TABLE twin (
  id bigint PRIMARY KEY,
  dt_id text COLLATE "C" NOT NULL UNIQUE,
  model bigint NOT NULL REFERENCES interface,
  etag text COLLATE "C" NOT NULL,
  document json NOT NULL
);
CREATE TABLE relationship (
  id bigint PRIMARY KEY,
  source bigint NOT NULL REFERENCES twin,
  relationship_id text COLLATE "C" NOT NULL,
  name text COLLATE "C" NOT NULL,
  target bigint NOT NULL REFERENCES twin,
  etag text COLLATE "C" NOT NULL,
  document json NOT NULL,
  UNIQUE (source, relationship_id)
);

-- Fails with `message`; `sample` is a NULL of the type that the expression around it needs. Volatile,
-- so that it is not computed before a branch of CASE is taken.
CREATE FUNCTION twinframe_trap(message text, sample anyelement) RETURNS anyelement
LANGUAGE plpgsql VOLATILE AS $$ BEGIN RAISE EXCEPTION USING MESSAGE = message; END $$;

-- The name of a JSON value's type, numbers told apart by their spelling.
CREATE FUNCTION twinframe_type(value json) RETURNS text
LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT CASE json_typeof(value)
    WHEN 'number' THEN CASE WHEN value::text ~ '[.eE]' THEN 'real' ELSE 'integer' END
    WHEN 'string' THEN 'text'
    WHEN 'boolean' THEN value::text
    ELSE json_typeof(value)
  END
$$;

-- A float as a number that compares exactly with integers: below 2^53 its shortest spelling does, within
-- 64 bits it is an integer itself, beyond there are no integers to compare it with.
CREATE FUNCTION twinframe_exact(value float8) RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT AS $$
BEGIN
  IF abs(value) = 'Infinity' THEN
    RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: a comparison of an infinity';
  ELSIF abs(value) >= 9007199254740992 AND value >= -9223372036854775808
    AND value < 9223372036854775808 THEN
    RETURN value::bigint::numeric;
  END IF;
  RETURN value::text::numeric;
END
$$;

-- The exact number of a JSON number; NULL for any other value.
CREATE FUNCTION twinframe_number(value json) RETURNS numeric
LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT CASE twinframe_type(value)
    WHEN 'integer' THEN value::text::numeric
    WHEN 'real' THEN twinframe_exact(value::text::float8)
  END
$$;

-- Equal for equivalent scalars, different for others. Lists and maps fail, unless `apart`.
CREATE FUNCTION twinframe_key(value json, apart boolean) RETURNS jsonb
LANGUAGE sql VOLATILE STRICT AS $$
  SELECT CASE
    WHEN json_typeof(value) = 'number' THEN to_jsonb(twinframe_number(value))
    WHEN json_typeof(value) IN ('string', 'boolean') THEN value::jsonb
    WHEN json_typeof(value) = 'null' THEN NULL
    WHEN NOT apart THEN twinframe_trap(
      'twinframe cannot run: grouping or comparing lists or maps', NULL::jsonb)
    WHEN json_typeof(value) = 'array' THEN '[]'::jsonb
    ELSE '{}'::jsonb
  END
$$;

-- The JSON of a float, which is never spelled as an integer; an infinity by its name.
CREATE FUNCTION twinframe_float(value float8) RETURNS json
LANGUAGE sql IMMUTABLE STRICT AS $$
  SELECT CASE WHEN value::text ~ '[.eI]' THEN to_json(value) ELSE (value::text || '.0')::json END
$$;
