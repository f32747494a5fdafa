// DuckDB macros for functions of GoogleSQL whose meaning DuckDB's own do not have.
// hornbeam_googlesql.py calls them.
#ifndef HORNBEAM_SERVICES_BIGQUERY_GOOGLESQL_MACROS_H_
#define HORNBEAM_SERVICES_BIGQUERY_GOOGLESQL_MACROS_H_

namespace hornbeam::services::bigquery {

// Statements that make them in the schema "hornbeam", again at every start. What makes large values of
// small ones has BigQuery's bounds: DuckDB does not count such values when it keeps to its memory
// limit. They are on the arguments, which are known before the value is made. GENERATE_ARRAY has a
// bound of ours where its arguments are columns, as DuckDB makes the lists of 2048 rows at once.
inline constexpr char kGoogleSqlMacros[] = R"sql(
CREATE OR REPLACE MACRO hornbeam.divide(a, b) AS
  CASE WHEN b = 0 THEN error(concat('division by zero: ', a, ' / ', b)) ELSE a / b END;
CREATE OR REPLACE MACRO hornbeam.int_divide(a, b) AS
  CASE WHEN b = 0 THEN error(concat('division by zero: ', a, ' / ', b)) ELSE a // b END;
CREATE OR REPLACE MACRO hornbeam.modulo(a, b) AS
  CASE WHEN b = 0 THEN error(concat('division by zero: MOD(', a, ', ', b, ')')) ELSE a % b END;
CREATE OR REPLACE MACRO hornbeam.ieee_divide(a, b) AS CAST(a AS DOUBLE) / CAST(b AS DOUBLE);
CREATE OR REPLACE MACRO hornbeam.safe_add(a, b) AS TRY(a + b);
CREATE OR REPLACE MACRO hornbeam.safe_subtract(a, b) AS TRY(a - b);
CREATE OR REPLACE MACRO hornbeam.safe_multiply(a, b) AS TRY(a * b);
CREATE OR REPLACE MACRO hornbeam.safe_negate(a) AS TRY(-a);
CREATE OR REPLACE MACRO hornbeam.code_points_to_string(list) AS
  array_to_string(list_transform(list, lambda x : chr(x::INTEGER)), '');
CREATE OR REPLACE MACRO hornbeam.to_code_points(s) AS
  list_transform(string_split(s, ''), lambda c : CAST(unicode(c) AS BIGINT));
CREATE OR REPLACE MACRO hornbeam.unix_date(d) AS date_diff('day', DATE '1970-01-01', d);
CREATE OR REPLACE MACRO hornbeam.from_unix_date(n) AS DATE '1970-01-01' + CAST(n AS INTEGER);
CREATE OR REPLACE MACRO hornbeam.byte_length(x) AS
  CASE typeof(x) WHEN 'BLOB' THEN octet_length(TRY_CAST(x AS BLOB)) ELSE strlen(CAST(x AS VARCHAR)) END;
CREATE OR REPLACE MACRO hornbeam.json_type(j) AS
  CASE json_type(j) WHEN 'VARCHAR' THEN 'string' WHEN 'BIGINT' THEN 'number' WHEN 'UBIGINT' THEN 'number'
    WHEN 'DOUBLE' THEN 'number' WHEN 'HUGEINT' THEN 'number' ELSE lower(json_type(j)) END;
CREATE OR REPLACE MACRO hornbeam.string(x) AS
  CASE typeof(x) WHEN 'JSON' THEN json_extract_string(CAST(x AS JSON), '$') ELSE CAST(x AS VARCHAR) END;
CREATE OR REPLACE MACRO hornbeam.parse_numeric(s) AS CAST(trim(s) AS DECIMAL(38, 9));
CREATE OR REPLACE MACRO hornbeam.to_int64(x) AS
  CASE typeof(x) WHEN 'DOUBLE' THEN CAST(round(TRY_CAST(x AS DOUBLE)) AS BIGINT) ELSE CAST(x AS BIGINT) END;
CREATE OR REPLACE MACRO hornbeam.to_string(x) AS
  CASE WHEN typeof(x) = 'DOUBLE' THEN regexp_replace(CAST(x AS VARCHAR), '\.0$', '')
    WHEN typeof(x) = 'BLOB' THEN decode(TRY_CAST(x AS BLOB))
    WHEN starts_with(typeof(x), 'DECIMAL') THEN
      CASE WHEN contains(CAST(x AS VARCHAR), '.') THEN rtrim(rtrim(CAST(x AS VARCHAR), '0'), '.') ELSE CAST(x AS VARCHAR) END
    ELSE CAST(x AS VARCHAR) END;
CREATE OR REPLACE MACRO hornbeam.array_end(a, b, step, most, call) AS
  CASE WHEN step = 0 THEN error('Sequence step cannot be 0.')
    WHEN (CAST(b AS HUGEINT) - CAST(a AS HUGEINT)) // step >= most
      THEN error(concat(call, '(', a, ', ', b, ', ', step, ') produced too many elements'))
    ELSE b END;
CREATE OR REPLACE MACRO hornbeam.generate_array(a, b, step) AS
  generate_series(a, hornbeam.array_end(a, b, step, 1048575, 'GENERATE_ARRAY'), step);
CREATE OR REPLACE MACRO hornbeam.generate_array_by_row(a, b, step) AS
  generate_series(a, hornbeam.array_end(a, b, step, 65536, 'GENERATE_ARRAY'), step);
CREATE OR REPLACE MACRO hornbeam.time_array_end(a, b, step, call) AS
  CASE WHEN epoch_us(step) = 0 THEN error('Sequence step cannot be 0.')
    WHEN (CAST(epoch_us(b) AS HUGEINT) - epoch_us(a)) // epoch_us(step) >= 1048575
      THEN error(concat(call, '(', a, ', ', b, ', INTERVAL ', step, ') produced too many elements'))
    ELSE b END;
CREATE OR REPLACE MACRO hornbeam.generate_timestamp_array(a, b, step) AS
  generate_series(CAST(a AS TIMESTAMPTZ),
    hornbeam.time_array_end(CAST(a AS TIMESTAMPTZ), CAST(b AS TIMESTAMPTZ), step, 'GENERATE_TIMESTAMP_ARRAY'), step);
CREATE OR REPLACE MACRO hornbeam.generate_date_array(a, b, step) AS
  CAST(generate_series(CAST(CAST(a AS DATE) AS TIMESTAMP),
    hornbeam.time_array_end(CAST(CAST(a AS DATE) AS TIMESTAMP), CAST(CAST(b AS DATE) AS TIMESTAMP), step,
                            'GENERATE_DATE_ARRAY'), step) AS DATE[]);
CREATE OR REPLACE MACRO hornbeam.repeat(s, n) AS
  repeat(s, CASE WHEN n < 0 THEN error('Second argument of REPEAT cannot be negative')
    WHEN CAST(hornbeam.byte_length(s) AS HUGEINT) * n > 1048576
      THEN error('Output of REPEAT exceeds max allowed output size of 1MB')
    ELSE n END);
CREATE OR REPLACE MACRO hornbeam.pad_length(n) AS
  CASE WHEN n < 0 THEN error('Second argument (output size) for LPAD/RPAD cannot be negative')
    WHEN n > 1048576 THEN error('Output of LPAD/RPAD exceeds max allowed output size of 1MB')
    ELSE n END;
CREATE OR REPLACE MACRO hornbeam.lpad(s, n, p) AS lpad(s, CAST(hornbeam.pad_length(n) AS INTEGER), p);
CREATE OR REPLACE MACRO hornbeam.rpad(s, n, p) AS rpad(s, CAST(hornbeam.pad_length(n) AS INTEGER), p);
CREATE OR REPLACE MACRO hornbeam.nfc(s) AS nfc_normalize(s);
)sql";

}  // namespace hornbeam::services::bigquery

#endif  // HORNBEAM_SERVICES_BIGQUERY_GOOGLESQL_MACROS_H_
