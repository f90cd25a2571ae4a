-- least: 1
-- A text that sorts as the time in `value` does, of the DTDL schema `form`: by its instant, then from west to
-- east. Fails for a text of another form than `2024-01-31T12:00:00.5+01:00`, with or without fraction
-- and offset, and for a day that does not exist.
CREATE FUNCTION twinframe_time(form text, value text) RETURNS text
LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS $$
DECLARE
  day constant text := '([0-9]{4}-[0-9]{2}-[0-9]{2})';
  clock constant text := '((?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9])([.][0-9]{1,9})?(Z|[+-][01][0-9]:[0-5][0-9])?';
  parts text[];
  seconds bigint;
  east integer := 0;
BEGIN
  CASE form
    WHEN 'date' THEN parts := regexp_match(value, '^' || day || '()()()$');
    WHEN 'time' THEN parts := regexp_match(value, '^()' || clock || '$');
    WHEN 'dateTime' THEN parts := regexp_match(value, '^' || day || 'T' || clock || '$');
    ELSE NULL;
  END CASE;
  IF length(parts[4]) = 6 THEN
    east := (left(parts[4], 1) || '1')::integer
      * (substr(parts[4], 2, 2)::integer * 3600 + substr(parts[4], 5, 2)::integer * 60);
  END IF;
  IF parts IS NULL OR abs(east) > 64800 THEN
    RAISE EXCEPTION USING MESSAGE = 'twinframe cannot run: a time of another form';
  ELSIF form = 'date' THEN
    RETURN value::date::text;
  ELSIF form = 'time' THEN
    seconds := extract(epoch FROM parts[2]::time);
  ELSE
    seconds := extract(epoch FROM (parts[1] || ' ' || parts[2])::timestamp);
  END IF;
  RETURN lpad((seconds - east + 70000000000)::text, 12, '0')
    || rpad(rtrim(coalesce(parts[3], ''), '.0'), 10) || lpad((east + 64800)::text, 6, '0');
END
$$;
