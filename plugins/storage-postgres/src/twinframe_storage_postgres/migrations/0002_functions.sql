-- least: 1
-- The functions that compiled queries call. A value that may be of several kinds is `jsonb`: a number
-- with a decimal point is a float, U+0001 stands for U+0000. Functions of one SELECT are written so
-- that PostgreSQL puts them into the statement, which it does not with STRICT.

-- Fails with `message`; `sample` is a NULL of the type that the expression around it needs. Volatile,
-- so that it is not computed before a branch of CASE is taken.
CREATE FUNCTION twinframe_trap(message text, sample anyelement) RETURNS anyelement
LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$ BEGIN RAISE EXCEPTION USING MESSAGE = message; END $$;

-- The name of a JSON value's type, numbers told apart by their spelling.
CREATE FUNCTION twinframe_type(value jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE jsonb_typeof(value)
    WHEN 'number' THEN CASE WHEN scale(value::numeric) > 0 THEN 'real' ELSE 'integer' END
    WHEN 'string' THEN 'text'
    WHEN 'boolean' THEN value::text
    ELSE jsonb_typeof(value)
  END
$$;

-- A float as a number that compares exactly with integers: below 2^53 its shortest spelling does, within
-- 64 bits it is an integer itself, beyond there are no integers to compare it with.
CREATE FUNCTION twinframe_exact(value float8) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN abs(value) >= 9007199254740992 AND value >= -9223372036854775808
      AND value < 9223372036854775808 THEN value::bigint::numeric
    ELSE value::text::numeric
  END
$$;

-- The number of a JSON number; NULL for any other value.
CREATE FUNCTION twinframe_number(value jsonb) RETURNS numeric
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN jsonb_typeof(value) = 'number' THEN value::numeric END
$$;

-- The JSON of a float, which has a decimal point; that of a negative zero has two decimals.
CREATE FUNCTION twinframe_float(value float8) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT to_jsonb(CASE
    WHEN value = 0 THEN CASE value::text WHEN '-0' THEN 0.00 ELSE 0.0 END
    WHEN value = trunc(value) THEN round(twinframe_exact(value), 1) ELSE value::text::numeric
  END)
$$;

-- What tells equivalent values apart that may not be the same, such as 1 and 1.0: 1 of an integer, 2
-- of a float, 4 of a list or map that has numbers.
CREATE FUNCTION twinframe_form(value jsonb) RETURNS integer
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE jsonb_typeof(value)
    WHEN 'number' THEN CASE WHEN scale(value::numeric) > 0 THEN 2 ELSE 1 END
    WHEN 'array' THEN CASE WHEN value @? '$.** ? (@.type() == "number")' THEN 4 END
    WHEN 'object' THEN CASE WHEN value @? '$.** ? (@.type() == "number")' THEN 4 END
  END
$$;

-- `a = b` of any values, in three-valued logic.
CREATE FUNCTION twinframe_equal(a jsonb, b jsonb) RETURNS boolean
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
  answer boolean := TRUE;
  same boolean;
  one jsonb;
  other jsonb;
BEGIN
  IF a IS NULL OR b IS NULL OR a = 'null' OR b = 'null' THEN
    RETURN NULL;
  ELSIF jsonb_typeof(a) <> jsonb_typeof(b) THEN
    RETURN FALSE;
  ELSIF jsonb_typeof(a) = 'array' THEN
    IF jsonb_array_length(a) <> jsonb_array_length(b) THEN
      RETURN FALSE;
    END IF;
    FOR i IN 0 .. jsonb_array_length(a) - 1 LOOP
      same := twinframe_equal(a -> i, b -> i);
      IF NOT same THEN
        RETURN FALSE;
      END IF;
      answer := CASE WHEN same IS NOT NULL THEN answer END;
    END LOOP;
    RETURN answer;
  ELSIF jsonb_typeof(a) = 'object' THEN
    IF ARRAY(SELECT jsonb_object_keys(a)) <> ARRAY(SELECT jsonb_object_keys(b)) THEN
      RETURN FALSE;
    END IF;
    FOR one, other IN SELECT e.value, b -> e.key FROM jsonb_each(a) AS e LOOP
      same := twinframe_equal(one, other);
      IF NOT same THEN
        RETURN FALSE;
      END IF;
      answer := CASE WHEN same IS NOT NULL THEN answer END;
    END LOOP;
    RETURN answer;
  END IF;
  RETURN a = b;
END
$$;

-- `item IN members` of any values, in three-valued logic.
CREATE FUNCTION twinframe_in(item jsonb, members jsonb) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN members IS NULL THEN NULL
    WHEN bool_or(found.same) THEN TRUE
    WHEN count(*) = count(found.same) THEN FALSE
  END
  FROM (
    SELECT twinframe_equal(item, e.value) AS same FROM jsonb_array_elements(members) AS e(value)
  ) AS found
$$;

-- The float of a JSON number; NULL for any other value.
CREATE FUNCTION twinframe_real(value jsonb) RETURNS float8
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN jsonb_typeof(value) <> 'number' THEN NULL
    WHEN value = '0' AND scale(value::numeric) = 2 THEN '-0'::float8
    ELSE value::numeric::float8
  END
$$;

-- `left operator right` of numbers that may be of both kinds, and NULL for null.
CREATE FUNCTION twinframe_compute(a jsonb, operator text, b jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
DECLARE
  x float8;
  y float8;
BEGIN
  IF a IS NULL OR b IS NULL OR a = 'null' OR b = 'null' THEN
    RETURN NULL;
  ELSIF operator = '+' AND 'array' IN (jsonb_typeof(a), jsonb_typeof(b)) THEN
    RETURN CASE jsonb_typeof(a) WHEN 'array' THEN a ELSE jsonb_build_array(a) END
      || CASE jsonb_typeof(b) WHEN 'array' THEN b ELSE jsonb_build_array(b) END;
  ELSIF operator = '+' AND 'string' IN (jsonb_typeof(a), jsonb_typeof(b)) THEN
    RETURN to_jsonb(twinframe_text(a) || twinframe_text(b));
  ELSIF jsonb_typeof(a) <> 'number' OR jsonb_typeof(b) <> 'number' THEN
    RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: arithmetic over other types';
  ELSIF scale(a::numeric) = 0 AND scale(b::numeric) = 0 THEN
    RETURN to_jsonb(CASE operator
      WHEN '+' THEN a::bigint + b::bigint
      WHEN '-' THEN a::bigint - b::bigint
      WHEN '*' THEN a::bigint * b::bigint
      WHEN '/' THEN a::bigint / b::bigint
      WHEN '%' THEN a::bigint % b::bigint
    END);
  ELSIF operator = '%' THEN
    RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: a remainder of floats';
  END IF;
  x := twinframe_real(a);
  y := twinframe_real(b);
  RETURN twinframe_float(CASE operator
    WHEN '+' THEN x + y WHEN '-' THEN x - y WHEN '*' THEN x * y WHEN '/' THEN x / y
  END);
END
$$;

-- The text of a float as `toString()` renders it.
CREATE FUNCTION twinframe_float_text(value float8) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE
    WHEN value = 0 OR abs(value) >= 0.0001 AND abs(value) < 1e16
      THEN CASE WHEN value = trunc(value)
        THEN round(twinframe_exact(value), 1) ELSE value::text::numeric END::text
    ELSE value::text
  END
$$;

-- The text of a scalar in a concatenation; NULL for null.
CREATE FUNCTION twinframe_text(value jsonb) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
  CASE twinframe_type(value)
    WHEN 'real' THEN RETURN CASE WHEN value = '0' AND scale(value::numeric) = 2 THEN '-0.0'
      ELSE twinframe_float_text(twinframe_real(value)) END;
    WHEN 'array', 'object' THEN
      RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: the text of a list or map';
    ELSE RETURN value #>> '{}';
  END CASE;
END
$$;

-- Conversions of scalars; a text that spells none gives NULL.
CREATE FUNCTION twinframe_to_integer(value jsonb) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
DECLARE
  number numeric;
  spelled text;
BEGIN
  IF value IS NULL OR value = 'null' THEN
    RETURN NULL;
  END IF;
  CASE twinframe_type(value)
    WHEN 'true' THEN RETURN 1;
    WHEN 'false' THEN RETURN 0;
    WHEN 'integer' THEN RETURN value::bigint;
    WHEN 'real' THEN RETURN trunc(value::numeric)::bigint;
    WHEN 'text' THEN
      spelled := twinframe_strip(value #>> '{}');
      IF length(spelled) > 400 THEN
        RETURN NULL;
      ELSIF spelled ~ '^[+-]?[0-9]+$' THEN
        number := spelled::numeric;
      ELSIF spelled ~ '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$' THEN
        number := trunc(twinframe_exact(spelled::float8));
      END IF;
      RETURN CASE WHEN number BETWEEN -9223372036854775808 AND 9223372036854775807
        THEN number::bigint END;
    ELSE
      RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: toInteger() of such a value';
  END CASE;
END
$$;

CREATE FUNCTION twinframe_to_float(value jsonb) RETURNS float8
LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
DECLARE
  spelled text;
BEGIN
  IF value IS NULL OR value = 'null' THEN
    RETURN NULL;
  ELSIF jsonb_typeof(value) = 'number' THEN
    RETURN value::numeric::float8;
  ELSIF jsonb_typeof(value) <> 'string' THEN
    RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: toFloat() of such a value';
  END IF;
  spelled := twinframe_strip(value #>> '{}');
  RETURN CASE WHEN spelled ~ '^[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?$'
    THEN spelled::float8 END;
END
$$;

CREATE FUNCTION twinframe_to_boolean(value jsonb) RETURNS boolean
LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
  IF value IS NULL OR value = 'null' THEN
    RETURN NULL;
  END IF;
  CASE twinframe_type(value)
    WHEN 'true' THEN RETURN TRUE;
    WHEN 'false' THEN RETURN FALSE;
    WHEN 'integer' THEN RETURN value::numeric <> 0;
    WHEN 'text' THEN
      RETURN CASE lower(twinframe_strip(value #>> '{}') COLLATE "C")
        WHEN 'true' THEN TRUE WHEN 'false' THEN FALSE END;
    ELSE
      RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: toBoolean() of such a value';
  END CASE;
END
$$;

-- The text itself if it is of ASCII, whose letters and blanks are the same everywhere.
CREATE FUNCTION twinframe_ascii(value text) RETURNS text
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT CASE WHEN octet_length(value) = length(value) THEN value
    WHEN value IS NOT NULL THEN twinframe_trap('twinframe cannot run: letters beyond ASCII', NULL::text)
  END
$$;

CREATE FUNCTION twinframe_strip(value text) RETURNS text
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT btrim(twinframe_ascii(value), E' \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f')
$$;

CREATE FUNCTION twinframe_strip_left(value text) RETURNS text
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT ltrim(twinframe_ascii(value), E' \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f')
$$;

CREATE FUNCTION twinframe_strip_right(value text) RETURNS text
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT rtrim(twinframe_ascii(value), E' \t\n\r\x0b\x0c\x1c\x1d\x1e\x1f')
$$;

-- A number of characters that a function of texts takes.
CREATE FUNCTION twinframe_count(value bigint) RETURNS integer
LANGUAGE sql VOLATILE PARALLEL SAFE AS $$
  SELECT CASE WHEN value >= 0 THEN least(value, 1000000000)::integer
    WHEN value < 0 THEN twinframe_trap('twinframe cannot run: a negative count', NULL::integer)
  END
$$;

CREATE FUNCTION twinframe_split(value text, delimiter text) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
DECLARE
  parts text[];
BEGIN
  IF value IS NULL OR delimiter IS NULL THEN
    RETURN NULL;
  END IF;
  parts := CASE WHEN delimiter = '' THEN string_to_array(value, NULL)
    WHEN value = '' THEN ARRAY['']
    ELSE string_to_array(value, delimiter) END;
  IF cardinality(parts) > 10000 THEN
    RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: split() to so many parts';
  END IF;
  RETURN to_jsonb(parts);
END
$$;

CREATE FUNCTION twinframe_range(first bigint, last bigint, step bigint) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
  IF first IS NULL OR last IS NULL OR step IS NULL THEN
    RETURN NULL;
  ELSIF step = 0 OR (last::numeric - first) / step >= 10000 THEN
    RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: a range() of so many numbers';
  END IF;
  RETURN coalesce(
    (SELECT jsonb_agg(each.n) FROM generate_series(first, last, step) AS each(n)), '[]');
END
$$;

-- The elements of a list from one position to before another; negative ones count from the end.
CREATE FUNCTION twinframe_slice(list jsonb, first bigint, last bigint) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN list IS NULL OR first IS NULL OR last IS NULL THEN NULL
    ELSE coalesce(jsonb_agg(e.value ORDER BY e.n), '[]') END
  FROM jsonb_array_elements(list) WITH ORDINALITY AS e(value, n)
  WHERE e.n > CASE WHEN first < 0 THEN first + jsonb_array_length(list) ELSE first END
    AND e.n <= CASE WHEN last < 0 THEN last + jsonb_array_length(list) ELSE last END
$$;

CREATE FUNCTION twinframe_element(list jsonb, place bigint) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN abs(place::numeric) < 1000000000 THEN nullif(list -> place::integer, 'null') END
$$;

CREATE FUNCTION twinframe_reverse(list jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE WHEN list IS NOT NULL THEN coalesce(jsonb_agg(e.value ORDER BY e.n DESC), '[]') END
  FROM jsonb_array_elements(list) WITH ORDINALITY AS e(value, n)
$$;

-- The list without those elements that are equivalent to an earlier one.
CREATE FUNCTION twinframe_distinct(list jsonb) RETURNS jsonb
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT coalesce(jsonb_agg(d.value ORDER BY d.n), '[]') FROM (
    SELECT DISTINCT ON (e.value) e.value, e.n
    FROM jsonb_array_elements(list) WITH ORDINALITY AS e(value, n) ORDER BY e.value, e.n
  ) AS d
$$;

-- `size()` of a list, map or string; NULL for null.
CREATE FUNCTION twinframe_size(value jsonb) RETURNS bigint
LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
  CASE coalesce(jsonb_typeof(value), 'null')
    WHEN 'null' THEN RETURN NULL;
    WHEN 'array' THEN RETURN jsonb_array_length(value);
    WHEN 'object' THEN RETURN (SELECT count(*) FROM jsonb_object_keys(value));
    WHEN 'string' THEN RETURN length(value #>> '{}');
    ELSE RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: the size of such a value';
  END CASE;
END
$$;

CREATE FUNCTION twinframe_reverse_any(value jsonb) RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
BEGIN
  CASE coalesce(jsonb_typeof(value), 'null')
    WHEN 'null' THEN RETURN NULL;
    WHEN 'array' THEN RETURN twinframe_reverse(value);
    WHEN 'string' THEN RETURN to_jsonb(reverse(value #>> '{}'));
    ELSE RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: reverse() of such a value';
  END CASE;
END
$$;
