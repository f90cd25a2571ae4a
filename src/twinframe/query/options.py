"""The limits and options under which a query text is parsed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FrontEndOptions:
    """Limits of a query text. The defaults are those of `twinframe.settings.QuerySettings`.

    - `max_text_bytes`: longest text, in bytes of UTF-8.
    - `max_words`: most tokens of a text, constants in lists not counted.
    - `max_constants`: most constants in lists.
    - `max_depth`: deepest nesting of parentheses, lists, maps and calls; CASE, subqueries and
      expressions that bind a variable count twice, for they need the stack of two.
    - `max_height`: greatest height of the tree, chains like `1 + 1 + 1` and rows of clauses
      included; so every later phase may safely recurse over a tree. Chains of AND, OR, XOR, of
      comparisons, of labels and of UNION are balanced and hence practically free.
    - `max_elements`: most nodes and relationships of one MATCH.
    - `max_hops`: longest variable-length pattern; a pattern that needs more is refused.
    - `vendor_hops_exclusive`: `*n..m` in the vendor's MATCH excludes n itself.
    - `vendor_extensions`: allow what the vendor's language lacks (ORDER BY, GROUP BY, ...).
    - `writes`: parse clauses that write and calls of procedures, which are refused otherwise.
    - `calls`: parse calls of procedures without `writes`.
    - `map_properties`: a property may be a map, as a model may declare it.
    """

    max_text_bytes: int = 256 * 1024
    max_words: int = 10_000
    max_constants: int = 25_000
    max_depth: int = 64
    max_height: int = 128
    max_elements: int = 256
    max_hops: int = 32
    vendor_hops_exclusive: bool = True
    vendor_extensions: bool = True
    writes: bool = False
    calls: bool = False
    map_properties: bool = True
