"""The rewrite rules of the optimizer, one a file: each is a function operator -> operator of equal
rows.
"""

from __future__ import annotations

from collections.abc import Callable

from twinframe.query.algebra import Operator
from twinframe.query.rules.apply_into_source import move_apply_into_source
from twinframe.query.rules.count_into_exists import replace_counts_by_exists
from twinframe.query.rules.equality_into_pattern import move_equality_into_pattern
from twinframe.query.rules.filter_into_match import move_filter_into_match
from twinframe.query.rules.fold_constants import fold_constants
from twinframe.query.rules.labels_into_pattern import move_labels_into_pattern
from twinframe.query.rules.merge_projects import merge_projects

RULES: tuple[Callable[[Operator], Operator], ...] = (
    fold_constants,
    replace_counts_by_exists,
    move_apply_into_source,
    merge_projects,
    move_filter_into_match,
    move_equality_into_pattern,
    move_labels_into_pattern,
)
"""The rules in the order in which they are applied to each operator."""
