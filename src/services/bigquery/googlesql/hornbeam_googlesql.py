"""GoogleSQL to DuckDB: trees in, trees out.

sqlglot parses BigQuery's dialect and writes DuckDB's; what is here is what differs in meaning, the names
of tables, parameters, and the statements that change the catalog, which are returned as data for the
C++ side to carry out. What cannot be given BigQuery's meaning is refused, never guessed.

`translate` is the only entry. It never raises: a refusal is {"error": {"reason", "message"}}.
"""
import functools
import json
import logging

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, TokenError, UnsupportedError, ErrorLevel

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

NUMERIC_SCALE = 9
BIGNUMERIC_SCALE = 18
MACROS = "hornbeam"
STAGED_ROWS = "~staged"  # as query_engine.cc has it


class Refused(Exception):
    def __init__(self, message, reason="invalidQuery"):
        super().__init__(message)
        self.message = message
        self.reason = reason


# Functions that sqlglot leaves as they are: BigQuery's name -> what DuckDB calls the same thing.
RENAMED = {
    "BYTE_LENGTH": f"{MACROS}.byte_length", "JSON_TYPE": f"{MACROS}.json_type", "STRING": f"{MACROS}.string",
    "PARSE_NUMERIC": f"{MACROS}.parse_numeric", "TO_BASE64": "to_base64", "FROM_BASE64": "from_base64",
    "FROM_HEX": "unhex", "REVERSE": "reverse", "TRANSLATE": "translate",
    "SOUNDEX": None, "IEEE_DIVIDE": f"{MACROS}.ieee_divide", "BIT_COUNT": "bit_count",
    "CODE_POINTS_TO_STRING": f"{MACROS}.code_points_to_string", "TO_CODE_POINTS": f"{MACROS}.to_code_points",
    "SAFE_ADD": f"{MACROS}.safe_add", "SAFE_SUBTRACT": f"{MACROS}.safe_subtract",
    "SAFE_MULTIPLY": f"{MACROS}.safe_multiply", "SAFE_NEGATE": f"{MACROS}.safe_negate",
    "ARRAY_REVERSE": "list_reverse", "UNIX_DATE": f"{MACROS}.unix_date", "DATE_FROM_UNIX_DATE": f"{MACROS}.from_unix_date",
    "ERROR": "error", "SINH": "sinh", "COSH": "cosh", "TANH": "tanh",
    "CBRT": "cbrt", "ACOSH": "acosh", "ASINH": "asinh", "ATANH": "atanh",
}

TYPES = {
    exp.DataType.Type.TEXT: "STRING", exp.DataType.Type.VARCHAR: "STRING",
    exp.DataType.Type.BINARY: "BYTES", exp.DataType.Type.VARBINARY: "BYTES", exp.DataType.Type.BIGINT: "INT64",
    exp.DataType.Type.INT: "INT64", exp.DataType.Type.SMALLINT: "INT64", exp.DataType.Type.TINYINT: "INT64",
    exp.DataType.Type.DOUBLE: "FLOAT64", exp.DataType.Type.FLOAT: "FLOAT64",
    exp.DataType.Type.BOOLEAN: "BOOL", exp.DataType.Type.DECIMAL: "NUMERIC", exp.DataType.Type.BIGDECIMAL: "BIGNUMERIC",
    exp.DataType.Type.TIMESTAMPTZ: "TIMESTAMP", exp.DataType.Type.DATETIME: "DATETIME",
    exp.DataType.Type.TIMESTAMP: "DATETIME", exp.DataType.Type.DATE: "DATE", exp.DataType.Type.TIME: "TIME",
    exp.DataType.Type.JSON: "JSON",
}

DUCKDB_TYPES = {
    "STRING": "VARCHAR", "BYTES": "BLOB", "INT64": "BIGINT", "INTEGER": "BIGINT", "FLOAT64": "DOUBLE", "FLOAT": "DOUBLE",
    "BOOL": "BOOLEAN", "BOOLEAN": "BOOLEAN", "NUMERIC": f"DECIMAL(38,{NUMERIC_SCALE})",
    "BIGNUMERIC": f"DECIMAL(38,{BIGNUMERIC_SCALE})", "TIMESTAMP": "TIMESTAMPTZ", "DATETIME": "TIMESTAMP", "DATE": "DATE",
    "TIME": "TIME", "JSON": "JSON",
}


@functools.lru_cache(maxsize=256)
def parsed(sql):
    statements = [s for s in sqlglot.parse(sql, read="bigquery") if s is not None]
    return [s for s in statements if not isinstance(s, exp.Semicolon)]


def syntax_error(error, sql):
    first = error.errors[0] if getattr(error, "errors", None) else {}
    line, col = first.get("line"), first.get("col")
    highlight = (first.get("highlight") or "").strip()
    if not highlight:
        return f"Syntax error: Unexpected end of statement or token at [{line or 1}:{col or 1}]"
    start = max(1, (col or 1) - len(highlight) + 1)
    return f'Syntax error: Unexpected "{highlight}" at [{line or 1}:{start}]'


class Translator:
    def __init__(self, context, resolve):
        self.project = context["project"]
        self.default_dataset = context.get("default_dataset")
        self.parameters = context.get("parameters") or []
        self.named = {p["name"].lower(): p for p in self.parameters if p.get("name")}
        self.positional = [p for p in self.parameters if not p.get("name")]
        self.resolve = resolve
        self.referenced = []

    # -- names ---------------------------------------------------------------------------------------

    def name_parts(self, table):
        parts = [p.name for p in table.parts if p is not None]
        # `a.b.c` in one pair of backticks, or with dots left inside a part.
        split = []
        for part in parts:
            split.extend(part.split("."))
        return split

    def table_name(self, table):
        parts = self.name_parts(table)
        if len(parts) == 1:
            if not self.default_dataset:
                raise Refused(f'Table "{parts[0]}" must be qualified with a dataset (e.g. dataset.table).', "invalid")
            return [self.default_dataset["project"], self.default_dataset["dataset"], parts[0]]
        if len(parts) == 2:
            return [self.project] + parts
        # A project of a domain ("example.com:p") has dots of its own.
        return [".".join(parts[:-2]), parts[-2], parts[-1]]

    def dataset_name(self, table):
        parts = [p for p in self.name_parts(table) if p]
        return [self.project, parts[0]] if len(parts) == 1 else [".".join(parts[:-1]), parts[-1]]

    @staticmethod
    def physical(found, alias=None):
        return exp.Table(this=exp.to_identifier(found["table"], quoted=True),
                         db=exp.to_identifier(found["schema"], quoted=True),
                         alias=alias)

    def is_local_name(self, table):
        """Whether a one-part name is that of a WITH around it, or of an UNNEST's alias."""
        if table.args.get("db") or "." in table.name:
            return False
        name = table.name.lower()
        node = table
        while node is not None:
            with_ = node.args.get("with_") or node.args.get("with")
            if with_ is not None:
                for cte in with_.expressions:
                    if cte.alias.lower() == name and (with_.recursive or not contains(cte, table)):
                        return True
                    if contains(cte, table):
                        break
            node = node.parent
        return False

    def information_schema(self, table, parts):
        at = [p.upper() for p in parts].index("INFORMATION_SCHEMA")
        if at + 1 >= len(parts):
            raise Refused("Invalid INFORMATION_SCHEMA name: the view is missing.")
        scope = parts[:at]
        view = parts[at + 1].upper()
        if scope and scope[-1].lower().startswith("region-"):
            project, dataset = (scope[0] if len(scope) > 1 else self.project), None
        elif len(scope) >= 2:
            project, dataset = ".".join(scope[:-1]), scope[-1]
        elif scope:
            project, dataset = self.project, scope[0]
        else:
            project = self.project
            dataset = self.default_dataset["dataset"] if self.default_dataset and view != "SCHEMATA" else None
        found = json.loads(self.resolve(json.dumps({"information_schema": view, "project": project, "dataset": dataset})))
        self.raise_if_error(found)
        columns = found["columns"]
        rows = found["rows"] or [[None] * len(columns)]
        selects = []
        for row in rows:
            selects.append("SELECT " + ", ".join(
                f"CAST({literal(v)} AS {DUCKDB_TYPES[c['type']]}) AS \"{c['name']}\"" for v, c in zip(row, columns)))
        body = sqlglot.parse_one(" UNION ALL ".join(selects), read="duckdb")
        if not found["rows"]:
            body = exp.select("*").from_(body.subquery("none")).where(exp.false())
        alias = table.args.get("alias")
        alias = exp.to_identifier(alias.name) if alias and alias.name and "." not in alias.name else exp.to_identifier(view)
        return exp.Subquery(this=body, alias=exp.TableAlias(this=alias))

    @staticmethod
    def raise_if_error(found):
        if "error" in found:
            raise Refused(found["error"]["message"], found["error"]["reason"])

    def find_table(self, name):
        found = json.loads(self.resolve(json.dumps({"project": name[0], "dataset": name[1], "table": name[2]})))
        self.raise_if_error(found)
        self.referenced.append(name)
        return found

    def resolve_tables(self, tree):
        renamed = {}
        for table in list(tree.find_all(exp.Table)):
            if isinstance(table.this, exp.Func):
                raise Refused(f"Table-valued function not found: {table.this.sql(dialect='bigquery')}")
            if not isinstance(table.this, exp.Identifier) and not isinstance(table.this, exp.Expression):
                continue
            if self.is_local_name(table):
                continue
            parts = self.name_parts(table)
            if any(p.upper() == "INFORMATION_SCHEMA" for p in parts):
                table.replace(self.information_schema(table, parts))
                continue
            for unsupported in ("when", "version", "system_time", "sample"):
                if table.args.get(unsupported):
                    raise Refused("FOR SYSTEM_TIME AS OF is not supported by this local BigQuery")
            if parts[-1].endswith("*"):
                raise Refused("Wildcard tables are not supported by this local BigQuery; name the tables in a UNION ALL")
            found = self.find_table(self.table_name(table))
            alias = table.args.get("alias")
            if not alias and not isinstance(table.parent, (exp.Insert, exp.Schema)):
                alias = exp.TableAlias(this=exp.to_identifier(parts[-1], quoted=True))
            replacement = self.physical(found, alias)
            for key in ("joins", "pivots", "laterals"):
                if table.args.get(key):
                    replacement.set(key, table.args[key])
            table.replace(replacement)
            renamed[tuple(p.lower() for p in parts)] = parts[-1]
        # A column spelled with the whole name of its table: the alias says as much.
        for column in tree.find_all(exp.Column):
            if not column.args.get("db"):
                continue
            spelled = []
            for key in ("catalog", "db", "table"):
                if column.args.get(key):
                    spelled.extend(column.args[key].name.split("."))
            last = renamed.get(tuple(p.lower() for p in spelled))
            if last:
                column.set("table", exp.to_identifier(last, quoted=True))
                column.set("db", None)
                column.set("catalog", None)
        for column in tree.find_all(exp.Column):
            table = column.args.get("table")
            if table is not None and not column.args.get("db") and "." in table.name:
                last = renamed.get(tuple(table.name.lower().split(".")))
                if last:
                    column.set("table", exp.to_identifier(last, quoted=True))

    # -- parameters ----------------------------------------------------------------------------------

    def bind_parameters(self, tree):
        position = 0
        for node in list(tree.find_all(exp.Parameter, exp.Placeholder, bfs=False)):
            if isinstance(node, exp.Parameter):
                name = node.name
                found = self.named.get(name.lower())
                if found is None:
                    raise Refused(f"Query parameter '{name}' not found")
            else:
                if position >= len(self.positional):
                    raise Refused("The query has more ? than there are positional parameters")
                found = self.positional[position]
                position += 1
            node.replace(parameter_value(found.get("parameterType") or {}, found.get("parameterValue") or {}))

    # -- meaning -------------------------------------------------------------------------------------

    def rewrite(self, tree):
        """What BigQuery means, said in DuckDB's words: in place, the leaves first. Returns the root."""
        for select in tree.find_all(exp.Select):
            self.name_columns(select)
        for node in reversed(list(tree.walk(bfs=True))):
            meant = self.rewrite_node(node)
            if meant is node:
                continue
            if node is tree:
                tree = meant
            else:
                node.replace(meant)
        return tree

    @staticmethod
    def name_columns(select):
        if select.args.get("kind"):
            return
        unnamed = 0
        for projection in list(select.expressions):
            if isinstance(projection, (exp.Column, exp.Dot, exp.Alias, exp.Star, exp.Aliases)):
                continue
            if isinstance(projection, exp.Paren) and isinstance(projection.unnest(), exp.Column):
                continue
            name = f"f{unnamed}_"
            unnamed += 1
            select.expressions[select.expressions.index(projection)].replace(
                exp.alias_(projection.copy(), name, quoted=False))

    def rewrite_node(self, node):
        if isinstance(node, exp.Literal) and not node.is_string:
            return self.number(node)
        if isinstance(node, exp.DataType):
            return data_type(node)
        if isinstance(node, exp.Div):
            return macro("divide", node.this, node.expression)
        if isinstance(node, exp.IntDiv):
            return macro("int_divide", node.this, node.expression)
        if isinstance(node, exp.Mod):
            return macro("modulo", unparen(node.this), unparen(node.expression))
        if isinstance(node, exp.Dot) and isinstance(node.this, (exp.Var, exp.Identifier, exp.Column)) and (
                node.this.name.upper() == "SAFE") and isinstance(node.expression, exp.Func):
            return exp.Anonymous(this="TRY", expressions=[node.expression.copy()])
        if isinstance(node, exp.SafeFunc):
            return exp.Anonymous(this="TRY", expressions=[node.this.copy()])
        if isinstance(node, exp.Extract):
            return extract(node)
        if isinstance(node, exp.Unnest) and node.args.get("offset"):
            return unnest_with_offset(node)
        if isinstance(node, exp.GenerateSeries):
            # A list of constants is made once, others for thousands of rows together.
            name = "generate_array" if not node.find(exp.Column) else "generate_array_by_row"
            return macro(name, node.args["start"], node.args["end"], node.args.get("step") or exp.Literal.number(1))
        if isinstance(node, exp.GenerateDateArray):
            return macro("generate_date_array", node.args["start"], node.args["end"],
                         node.args.get("step") or exp.Interval(this=exp.Literal.string("1"), unit=exp.var("DAY")))
        if isinstance(node, exp.GenerateTimestampArray):
            return macro("generate_timestamp_array", node.args["start"], node.args["end"], node.args["step"])
        if isinstance(node, exp.Repeat):
            return macro("repeat", node.this, node.args["times"])
        if isinstance(node, exp.Pad):
            return macro("lpad" if node.args.get("is_left") else "rpad", node.this, node.expression,
                         node.args.get("fill_pattern") or exp.Literal.string(" "))
        if isinstance(node, exp.UnixToTime):
            scale = int(node.args["scale"].name) if node.args.get("scale") else 0
            micros = exp.Mul(this=exp.cast(node.this.copy(), "BIGINT", dialect="duckdb"),
                             expression=exp.Literal.number(10 ** (6 - scale)))
            return exp.Anonymous(this="make_timestamptz", expressions=[micros])
        if isinstance(node, exp.StrToTime):
            return exp.cast(node.copy(), "TIMESTAMPTZ", dialect="duckdb")
        if isinstance(node, exp.CurrentDatetime):
            if node.this is not None:
                raise Refused("CURRENT_DATETIME with a time zone is not supported by this local BigQuery")
            return exp.cast(exp.CurrentTimestamp(), "TIMESTAMP", dialect="duckdb")
        if isinstance(node, exp.Format):
            return exp.Anonymous(this="printf", expressions=[node.this.copy()] + [e.copy() for e in node.expressions])
        if isinstance(node, (exp.DateAdd, exp.DateSub)):
            # DuckDB makes a TIMESTAMP of a DATE and an interval.
            return exp.cast(node.copy(), "DATE", dialect="duckdb")
        if type(node) is exp.Cast and not isinstance(node.this, (exp.Literal, exp.Null)):
            if node.to.this == exp.DataType.Type.BIGINT:
                return macro("to_int64", node.this)
            if node.to.this == exp.DataType.Type.TEXT and not node.to.expressions:
                return macro("to_string", node.this)
        if isinstance(node, exp.Struct) and node.expressions and all(
                not isinstance(e, (exp.PropertyEQ, exp.Alias, exp.Column, exp.Dot)) for e in node.expressions):
            # Without names a struct fits others by position.
            return exp.Anonymous(this="row", expressions=[e.copy() for e in node.expressions])
        if isinstance(node, exp.Normalize):
            if node.args.get("form") or node.args.get("is_casefold"):
                raise Refused("NORMALIZE is supported in the form NFC only by this local BigQuery")
            return macro("nfc", node.this)
        if isinstance(node, exp.Func) and not isinstance(node, exp.Anonymous) and RENAMED.get(node.sql_name()):
            arguments = []
            for value in node.args.values():
                arguments.extend(value if isinstance(value, list) else [value] if isinstance(value, exp.Expression) else [])
            return exp.Anonymous(this=RENAMED[node.sql_name()], expressions=[a.copy() for a in arguments])
        if isinstance(node, exp.Command):
            raise Refused(f"This statement is not supported by this local BigQuery: {node.this}")
        if isinstance(node, exp.AnonymousAggFunc):
            raise Refused(f"Function not found: {node.name}")
        if isinstance(node, exp.Anonymous):
            return self.function(node)
        if isinstance(node, (exp.ReadCSV, exp.ReadParquet)):
            raise Refused(f"Function not found: {node.sql_name()}")
        return node

    @staticmethod
    def number(node):
        text = node.this
        if "." in text or "e" in text.lower():
            if isinstance(node.parent, exp.Interval):
                return node
            # A number with a point is FLOAT64, where DuckDB would make it DECIMAL.
            return exp.cast(exp.Literal.string(text), "DOUBLE", dialect="duckdb")
        if isinstance(node.parent, (exp.Add, exp.Sub, exp.Mul, exp.Neg, exp.Array, exp.Alias, exp.PropertyEQ, exp.Struct,
                                    exp.Coalesce, exp.If, exp.Case, exp.Sum)):
            # INT64 arithmetic, where DuckDB would calculate in 32 bits.
            if isinstance(node.parent, exp.Neg) and isinstance(node.parent.parent, (exp.Limit, exp.Offset)):
                return node
            if int(text) > 2**63 - 1:
                return node
            return exp.cast(node.copy(), "BIGINT", dialect="duckdb")
        return node

    @staticmethod
    def function(node):
        name = node.name
        upper = name.upper()
        if upper.startswith(f"{MACROS.upper()}.") or upper == "TRY":
            return node
        if upper in RENAMED and RENAMED[upper]:
            return exp.Anonymous(this=RENAMED[upper], expressions=node.expressions)
        raise Refused(f"Function not found: {name}")

    # -- statements ----------------------------------------------------------------------------------

    def query_tree(self, tree):
        tree = tree.copy()
        # Names first: BigQuery's SELECT-list aliases and UNNEST need the tree as it was parsed.
        self.resolve_tables(tree)
        tree = self.rewrite(tree)
        self.bind_parameters(tree)
        return tree

    def query_sql(self, tree):
        return duckdb_sql(self.query_tree(tree))

    def insert(self, tree):
        """An INSERT of a query also as two statements, so that only the second needs the writer's turn."""
        meant = self.query_tree(tree)
        result = {"kind": "INSERT", "target": self.table_name(tree.find(exp.Table)), "sql": duckdb_sql(meant)}
        rows = meant.args.get("expression")
        if isinstance(rows, exp.Query) and rows.find(exp.From) and not meant.args.get("with_"):
            result["staged_sql"] = duckdb_sql(rows)
            meant.set("expression", exp.select("*").from_(exp.Table(
                this=exp.to_identifier(STAGED_ROWS, quoted=True), db=exp.to_identifier("main"),
                catalog=exp.to_identifier("temp"))))
            result["run_sql"] = duckdb_sql(meant)
        return result

    def statement(self, tree):
        if isinstance(tree, exp.Query):
            return {"kind": "SELECT", "sql": self.query_sql(tree)}
        if isinstance(tree, exp.Insert):
            return self.insert(tree)
        if isinstance(tree, (exp.Update, exp.Delete, exp.Merge)):
            target = tree.find(exp.Table)
            if isinstance(tree, exp.Delete) and not tree.args.get("where"):
                raise Refused("DELETE must have a WHERE clause")
            if isinstance(tree, exp.Update) and not tree.args.get("where"):
                raise Refused("UPDATE must have a WHERE clause")
            name = self.table_name(target)
            return {"kind": type(tree).__name__.upper(), "target": name, "sql": self.query_sql(tree)}
        if isinstance(tree, exp.TruncateTable):
            name = self.table_name(tree.expressions[0])
            found = self.find_table(name)
            return {"kind": "TRUNCATE_TABLE", "target": name, "sql": exp.delete(self.physical(found)).sql(dialect="duckdb")}
        if isinstance(tree, exp.Create):
            return self.create(tree)
        if isinstance(tree, exp.Drop):
            return self.drop(tree)
        if isinstance(tree, exp.Alter):
            return self.alter(tree)
        if isinstance(tree, exp.Command):
            raise Refused(f"{tree.this.upper()} statements are not supported by this local BigQuery")
        word = tree.sql(dialect="bigquery").split(" ")[0]
        if isinstance(tree, (exp.Alias, exp.Column, exp.Binary, exp.Literal, exp.Func)):
            raise Refused(f'Syntax error: Unexpected identifier "{word}" at [1:1]')
        raise Refused(f"{word.upper()} statements are not supported by this local BigQuery")

    def create(self, tree):
        kind = tree.args["kind"].upper()
        properties = tree.args.get("properties")
        for prop in (properties.expressions if properties else []):
            if isinstance(prop, exp.TemporaryProperty):
                raise Refused("Temporary tables and functions are not supported by this local BigQuery")
        flags = {"replace": bool(tree.args.get("replace")), "if_not_exists": bool(tree.args.get("exists"))}
        if kind == "SCHEMA":
            return {"kind": "CREATE_SCHEMA", "dataset": self.dataset_name(tree.this),
                    "properties": self.options(properties), **flags}
        if kind not in ("TABLE", "VIEW"):
            raise Refused(f"CREATE {kind} is not supported by this local BigQuery")
        if tree.args.get("clone") or properties and properties.find(exp.LikeProperty):
            raise Refused("CREATE TABLE LIKE, COPY and CLONE are not supported by this local BigQuery")
        schema = tree.this if isinstance(tree.this, exp.Schema) else None
        table = schema.this if schema else tree.this
        result = {"kind": f"CREATE_{kind}", "target": self.table_name(table), "properties": self.options(properties), **flags}
        if schema and kind == "TABLE":
            fields = []
            for column in schema.expressions:
                if isinstance(column, exp.ColumnDef):
                    fields.append(column_field(column))
                elif not isinstance(column, (exp.PrimaryKey, exp.ForeignKey, exp.Constraint)):
                    raise Refused(f"Syntax error: Unexpected {column.sql(dialect='bigquery')} in a column list")
            result["schema"] = {"fields": fields}
        if tree.expression is not None:
            query = tree.expression
            result["as_sql"] = self.query_sql(query)
            if kind == "VIEW":
                result["properties"]["view"] = {"query": query.sql(dialect="bigquery"), "useLegacySql": False}
            if kind == "TABLE":
                result["kind"] = "CREATE_TABLE_AS_SELECT"
        elif kind == "VIEW":
            raise Refused("CREATE VIEW needs a query")
        elif not schema:
            raise Refused("CREATE TABLE needs columns or a query")
        return result

    def options(self, properties):
        out = {}
        for prop in (properties.expressions if properties else []):
            if isinstance(prop, exp.PartitionedByProperty):
                out.update(partitioning(prop.this))
            elif isinstance(prop, exp.Cluster) or type(prop).__name__ == "ClusterProperty":
                out["clustering"] = {"fields": [e.name for e in prop.expressions]}
            elif isinstance(prop, exp.Property):
                out.update(option(prop.name, prop.args.get("value")))
        if out.pop("requirePartitionFilter", None) and "timePartitioning" in out:
            out["timePartitioning"]["requirePartitionFilter"] = True
            out["requirePartitionFilter"] = True
        if "partitionExpirationDays" in out:
            days = out.pop("partitionExpirationDays")
            if "timePartitioning" in out:
                out["timePartitioning"]["expirationMs"] = str(int(float(days) * 86400000))
        return out

    def drop(self, tree):
        kind = tree.args["kind"].upper()
        flags = {"if_exists": bool(tree.args.get("exists")), "cascade": bool(tree.args.get("cascade"))}
        names = tree.args.get("tables") or [tree.this]
        if len(names) != 1 or not isinstance(names[0], exp.Table):
            raise Refused(f"DROP {kind} of this is not supported by this local BigQuery")
        if kind == "SCHEMA":
            return {"kind": "DROP_SCHEMA", "dataset": self.dataset_name(names[0]), **flags}
        if kind not in ("TABLE", "VIEW"):
            raise Refused(f"DROP {kind} is not supported by this local BigQuery")
        return {"kind": f"DROP_{kind}", "target": self.table_name(names[0]), **flags}

    def alter(self, tree):
        actions = []
        for action in tree.args.get("actions") or []:
            if isinstance(action, exp.ColumnDef):
                actions.append({"add": column_field(action), "if_not_exists": bool(action.args.get("exists"))})
            elif isinstance(action, exp.Drop) and action.args.get("kind", "").upper() == "COLUMN":
                for column in action.args.get("tables") or [action.this]:
                    actions.append({"drop": column.name, "if_exists": bool(action.args.get("exists"))})
            else:
                raise Refused("This ALTER TABLE action is not supported by this local BigQuery; "
                              "it can ADD COLUMN and DROP COLUMN")
        if tree.args.get("kind", "").upper() != "TABLE" or not actions:
            raise Refused("This ALTER statement is not supported by this local BigQuery")
        return {"kind": "ALTER_TABLE", "target": self.table_name(tree.this), "actions": actions,
                "if_exists": bool(tree.args.get("exists"))}


def duckdb_sql(tree):
    return tree.sql(dialect="duckdb", unsupported_level=ErrorLevel.RAISE)


def contains(tree, node):
    while node is not None:
        if node is tree:
            return True
        node = node.parent
    return False


def extract(node):
    """The parts of a date whose numbering DuckDB has otherwise."""
    part = node.this.name.upper()
    value = node.expression

    def plain(name):
        return exp.Anonymous(this="date_part", expressions=[exp.Literal.string(name.lower()), value.copy()])

    if part == "DAYOFWEEK":  # 1 is Sunday
        return exp.paren(exp.Add(this=plain("DOW"), expression=exp.Literal.number(1)))
    if part == "DATE":
        return exp.cast(value.copy(), "DATE", dialect="duckdb")
    if part == "TIME":
        return exp.cast(exp.cast(value.copy(), "TIMESTAMP", dialect="duckdb"), "TIME", dialect="duckdb")
    if part in ("MILLISECOND", "MICROSECOND"):  # DuckDB counts the seconds in
        size = 1000 if part == "MILLISECOND" else 1000000
        return exp.paren(exp.Mod(this=plain(part), expression=exp.Literal.number(size)))
    if part == "ISOWEEK":
        return plain("WEEK")
    if part == "WEEK":  # weeks begin on Sunday, and the days before the first one are week 0
        return exp.cast(exp.Anonymous(this="strftime", expressions=[
            exp.cast(value.copy(), "TIMESTAMP", dialect="duckdb"), exp.Literal.string("%U")]), "BIGINT", dialect="duckdb")
    if part in ("YEAR", "QUARTER", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "ISOYEAR", "DAYOFYEAR"):
        return plain(part)
    raise Refused(f"EXTRACT of {node.this.sql(dialect='bigquery')} is not supported by this local BigQuery")


def unnest_with_offset(node):
    """UNNEST WITH OFFSET counts from 0, WITH ORDINALITY from 1."""
    alias = node.args.get("alias")
    columns = alias.columns if alias else []
    value = columns[0].name if columns else "f0_"
    offset = node.args["offset"]
    offset = offset.name if isinstance(offset, exp.Expression) else "offset"
    inner = exp.Unnest(expressions=[e.copy() for e in node.expressions], offset=exp.to_identifier(offset, quoted=True),
                       alias=exp.TableAlias(this=exp.to_identifier("_unnested"),
                                            columns=[exp.to_identifier(value, quoted=True)]))
    select = exp.select(exp.column(exp.to_identifier(value, quoted=True)),
                        exp.alias_(exp.Sub(this=exp.column(exp.to_identifier(offset, quoted=True)),
                                           expression=exp.Literal.number(1)), offset, quoted=True)).from_(inner)
    return exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier("_with_offset")))


def unparen(node):
    return node.this if isinstance(node, exp.Paren) else node


def macro(name, *arguments):
    return exp.Anonymous(this=f"{MACROS}.{name}", expressions=[a.copy() for a in arguments])


def literal(value):
    if value is None:
        return "NULL"
    return "'" + str(value).replace("'", "''") + "'"


def data_type(node):
    kind = node.this
    if kind == exp.DataType.Type.DECIMAL and not node.expressions:
        return exp.DataType.build(f"DECIMAL(38, {NUMERIC_SCALE})", dialect="duckdb")
    if kind == exp.DataType.Type.BIGDECIMAL:
        return exp.DataType.build(f"DECIMAL(38, {BIGNUMERIC_SCALE})", dialect="duckdb")
    if kind in (exp.DataType.Type.GEOGRAPHY, exp.DataType.Type.INTERVAL) or kind.name.endswith("RANGE"):
        raise Refused(f"The type {kind.name} is not supported by this local BigQuery")
    return node


def field_type(node):
    """A DataType as the REST API spells a field: {"type", "mode"?, "fields"?}."""
    kind = node.this
    if kind == exp.DataType.Type.ARRAY:
        inner = field_type(node.expressions[0])
        if inner.get("mode") == "REPEATED":
            raise Refused("Arrays of arrays are not supported")
        return {**inner, "mode": "REPEATED"}
    if kind == exp.DataType.Type.STRUCT:
        fields = []
        for member in node.expressions:
            if not isinstance(member, exp.ColumnDef):
                raise Refused("A STRUCT field of a table must have a name")
            fields.append(column_field(member))
        return {"type": "RECORD", "fields": fields}
    if kind not in TYPES:
        raise Refused(f"The type {node.sql(dialect='bigquery')} is not supported by this local BigQuery")
    return {"type": TYPES[kind]}


def column_field(column):
    if column.args.get("kind") is None:
        raise Refused(f"The column {column.name} has no type")
    field = {"name": column.name, **field_type(column.args["kind"])}
    for constraint in column.args.get("constraints") or []:
        kind = constraint.kind if isinstance(constraint, exp.ColumnConstraint) else constraint
        if isinstance(kind, exp.NotNullColumnConstraint):
            if not kind.args.get("allow_null"):
                field["mode"] = "REQUIRED"
        elif isinstance(kind, exp.DefaultColumnConstraint):
            raise Refused(f"The column {column.name} has a default value, which this local BigQuery does not support")
        elif isinstance(kind, exp.Properties) or isinstance(constraint, exp.Properties):
            for prop in kind.expressions:
                if isinstance(prop, exp.Property) and prop.name.lower() == "description":
                    field["description"] = prop.args["value"].name
    return field


def partitioning(node):
    while isinstance(node, (exp.Paren, exp.Schema, exp.Tuple)) and (node.expressions or node.this):
        node = node.expressions[0] if node.expressions else node.this
    if isinstance(node, exp.Func) and node.find(exp.Column):
        column = node.find(exp.Column).name
        unit = node.args.get("unit")
        kind = unit.name.upper() if unit is not None else "DAY"
        if type(node).__name__ == "Anonymous" or "Range" in type(node).__name__:
            raise Refused("Integer-range partitioning is not supported by this local BigQuery")
    elif isinstance(node, (exp.Column, exp.Identifier)):
        column, kind = node.name, "DAY"
    else:
        raise Refused("This PARTITION BY is not supported by this local BigQuery")
    if column.upper() in ("_PARTITIONDATE", "_PARTITIONTIME"):
        return {"timePartitioning": {"type": kind}}
    return {"timePartitioning": {"type": kind, "field": column}}


def option(name, value):
    name = name.lower()
    if name == "description":
        return {"description": value.name}
    if name == "friendly_name":
        return {"friendlyName": value.name}
    if name == "location":
        return {"location": value.name}
    if name == "require_partition_filter":
        return {"requirePartitionFilter": isinstance(value, exp.Boolean) and value.this}
    if name == "partition_expiration_days":
        return {"partitionExpirationDays": value.name}
    if name == "labels":
        labels = {}
        for pair in value.expressions:
            parts = pair.expressions if isinstance(pair, (exp.Tuple, exp.Struct)) else []
            if len(parts) == 2:
                labels[parts[0].name] = parts[1].name
        return {"labels": labels}
    raise Refused(f"The option {name} is not supported by this local BigQuery")


def member(owner, name, kind, otherwise):
    """A member of a query parameter, of the type that the API gives it."""
    value = owner.get(name)
    if value is None:
        return otherwise
    if not isinstance(value, kind) or (kind is list and not all(isinstance(v, dict) for v in value)):
        raise Refused(f"Invalid value for {name} of a query parameter: it has the wrong type.", "invalid")
    return value


def type_name(kind):
    return member(kind, "type", str, "").upper()


def duckdb_type(kind):
    name = type_name(kind)
    if name == "ARRAY":
        return duckdb_type(member(kind, "arrayType", dict, {})) + "[]"
    if name in ("STRUCT", "RECORD"):
        members = ", ".join(f'{label(m, i)} {duckdb_type(member(m, "type", dict, {}))}'
                            for i, m in enumerate(member(kind, "structTypes", list, [])))
        return f"STRUCT({members})"
    if name not in DUCKDB_TYPES:
        raise Refused(f"Query parameters of type {name} are not supported by this local BigQuery", "invalid")
    return DUCKDB_TYPES[name]


def field_label(field, index):
    return member(field, "name", str, "") or f"_{index}"


def label(field, index):
    return exp.to_identifier(field_label(field, index), quoted=True).sql(dialect="duckdb")


def parameter_value(kind, value):
    name = type_name(kind)
    target = duckdb_type(kind)
    if name == "ARRAY":
        items = [parameter_value(kind["arrayType"], v) for v in member(value, "arrayValues", list, [])]
        return exp.cast(exp.Array(expressions=items), target, dialect="duckdb")
    if name in ("STRUCT", "RECORD"):
        given = member(value, "structValues", dict, {})
        members = []
        for i, field in enumerate(member(kind, "structTypes", list, [])):
            spelled = field_label(field, i)
            members.append(exp.PropertyEQ(this=exp.to_identifier(spelled, quoted=True), expression=parameter_value(
                member(field, "type", dict, {}), member(given, spelled, dict, {}))))
        return exp.cast(exp.Struct(expressions=members), target, dialect="duckdb")
    text = value.get("value")
    if text is None:
        return exp.cast(exp.null(), target, dialect="duckdb")
    if isinstance(text, (dict, list)):
        raise Refused("Invalid value for value of a query parameter: it has the wrong type.", "invalid")
    if name == "BYTES":
        return exp.Anonymous(this="from_base64", expressions=[exp.Literal.string(str(text))])
    return exp.cast(exp.Literal.string(str(text)), target, dialect="duckdb")


def translate(sql, index, context_json, resolve):
    """The index-th statement of `sql`, as JSON: what to do, and "count", the number of statements.

    resolve(request_json) -> json answers what the catalog knows of a table or an INFORMATION_SCHEMA view.
    """
    try:
        try:
            statements = parsed(sql)
        except ParseError as error:
            raise Refused(syntax_error(error, sql))
        except TokenError as error:
            raise Refused(f"Syntax error: {error}")
        if not statements:
            raise Refused("Syntax error: Unexpected end of statement")
        translator = Translator(json.loads(context_json), resolve)
        result = translator.statement(statements[index])
        result["count"] = len(statements)
        result["referenced"] = translator.referenced
        return json.dumps(result)
    except Refused as refused:
        return json.dumps({"error": {"reason": refused.reason, "message": refused.message}})
    except UnsupportedError as error:
        return json.dumps({"error": {"reason": "invalidQuery",
                                     "message": f"Not supported by this local BigQuery: {error}"}})
    except RecursionError:
        return json.dumps({"error": {"reason": "invalidQuery", "message": "The query is nested too deeply"}})
    except Exception as error:  # a bug here must be an error of this query, not of the process
        return json.dumps({"error": {"reason": "invalidQuery",
                                     "message": f"This query could not be translated: {type(error).__name__}: {error}"}})
