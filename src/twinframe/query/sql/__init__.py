"""The relational layer: plans of the algebra become SELECTs, which a dialect writes as SQL.

A storage plugin implements `Dialect` and `Extensions` and calls `compile_plan`. It imports the
names below and the module `kinds`; the other modules are the layer's own.
"""

from twinframe.query.sql import kinds
from twinframe.query.sql.bindings import (
    Bindings,
    Source,
    SqlValue,
    build_flat_json,
    build_json,
    build_scalar,
)
from twinframe.query.sql.columns import (
    Column,
    LabelSets,
    build_value_column,
    list_node_cells,
    list_relationship_cells,
)
from twinframe.query.sql.comparison import find_shared, render_nested_tag, render_whole
from twinframe.query.sql.comprehensions import (
    LONGEST_LIST,
    ElementExtensions,
    find_element_kinds,
)
from twinframe.query.sql.dialect import Carry, Dialect, Joins
from twinframe.query.sql.entities import compile_member
from twinframe.query.sql.extensions import Compiler, Compilers, Extensions
from twinframe.query.sql.grouping import Groups, render_group_key
from twinframe.query.sql.lets import Let, build_let
from twinframe.query.sql.operators import build_columns, compile_plan, read_column
from twinframe.query.sql.order import read_declared_times
from twinframe.query.sql.scans import find_key
from twinframe.query.sql.select import Page, Select, build_column
from twinframe.query.sql.term import (
    NULL_TERM,
    Member,
    Term,
    check_droppable,
    check_path,
    may_fail,
    read_owner,
    read_table,
)
from twinframe.query.sql.texts import render_all, render_balanced, render_text
from twinframe.query.sql.traps import LIMIT_MARK, RETREAT_MARK, TRAP_MARK, has_trap, read_trap

__all__ = [
    "LIMIT_MARK",
    "LONGEST_LIST",
    "NULL_TERM",
    "RETREAT_MARK",
    "TRAP_MARK",
    "Bindings",
    "Carry",
    "Column",
    "Compiler",
    "Compilers",
    "Dialect",
    "ElementExtensions",
    "Extensions",
    "Groups",
    "Joins",
    "LabelSets",
    "Let",
    "Member",
    "Page",
    "Select",
    "Source",
    "SqlValue",
    "Term",
    "build_column",
    "build_columns",
    "build_flat_json",
    "build_json",
    "build_let",
    "build_scalar",
    "build_value_column",
    "check_droppable",
    "check_path",
    "compile_member",
    "compile_plan",
    "find_element_kinds",
    "find_key",
    "find_shared",
    "has_trap",
    "kinds",
    "list_node_cells",
    "list_relationship_cells",
    "may_fail",
    "read_column",
    "read_declared_times",
    "read_owner",
    "read_table",
    "read_trap",
    "render_all",
    "render_balanced",
    "render_group_key",
    "render_nested_tag",
    "render_text",
    "render_whole",
]
