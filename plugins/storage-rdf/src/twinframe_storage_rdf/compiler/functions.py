"""Compiles function calls to SPARQL; the evaluator runs the functions that are missing here."""

from __future__ import annotations

from collections.abc import Callable

from twinframe.query.algebra import (
    Expression,
    FunctionCall,
    Literal,
    Property,
    Subscript,
    Variable,
)
from twinframe.query.engine import CannotRun
from twinframe.query.evaluate import kinds as k
from twinframe_storage_rdf import vocabulary as v
from twinframe_storage_rdf.compiler.abilities import NARROW
from twinframe_storage_rdf.compiler.bindings import Source
from twinframe_storage_rdf.compiler.composites import Shape
from twinframe_storage_rdf.compiler.entities import read_system
from twinframe_storage_rdf.compiler.labels import render_of_model
from twinframe_storage_rdf.compiler.select import Select
from twinframe_storage_rdf.compiler.term import NULL_TERM, Term, render_bound, render_is
from twinframe_storage_rdf.terms import Iri

CompileTerm = Callable[[Expression], Term]

_TYPE_TESTS = {
    "is_bool": k.BOOLEAN,
    "is_number": k.NUMBER,
    "is_object": k.MAP,
    "is_string": k.STRING,
}


def compile_call(call: FunctionCall, compile_term: CompileTerm, select: Select) -> Term:
    """The value of a call, or `CannotRun` naming the function."""
    match call.name:
        case "coalesce":
            return _compile_coalesce([compile_term(each) for each in call.arguments])
        case "exists":
            return Term(k.BOOLEAN, render_bound(compile_term(call.arguments[0])))
        case "is_defined" | "is_null" | "is_primitive":
            # NOTE: a member that exists with the value null has no triple.
            raise CannotRun(f"{call.name}(), which tells a null member from a missing one.")
        case "is_bool" | "is_number" | "is_object" | "is_string":
            return _compile_type_test(call, compile_term)
        case "type":
            return _compile_type(compile_term(call.arguments[0]))
        case "size":
            return _compile_size(compile_term(call.arguments[0]), select)
        case "length":
            return _compile_length(call.arguments[0], select)
        case "startNode" | "endNode":
            end = v.SOURCE if call.name == "startNode" else v.TARGET
            return _compile_end(compile_term(call.arguments[0]), end)
        case "digitaltwins.is_of_model":
            return _compile_is_of_model(call, compile_term, select)
        case name:
            raise CannotRun(f"The function {name}().")


def _compile_coalesce(arguments: list[Term]) -> Term:
    kinds = 0
    for term in arguments:
        kinds |= term.kinds
    if kinds & k.ENTITIES:
        raise CannotRun("A choice of nodes or relationships.")
    if not arguments[-1].kinds & k.NULL:
        kinds &= ~k.NULL
    return Term(kinds, f"COALESCE({', '.join(term.text for term in arguments)})")


def _compile_type_test(call: FunctionCall, compile_term: CompileTerm) -> Term:
    if not isinstance(call.arguments[0], Property | Subscript):
        raise CannotRun(f"{call.name}() of a computed value.")
    term = compile_term(call.arguments[0])
    return Term(k.BOOLEAN, f"COALESCE({render_is(term, _TYPE_TESTS[call.name])}, false)")


def _compile_type(term: Term) -> Term:
    if term.kinds & ~k.NULL != k.RELATIONSHIP:
        raise CannotRun("type() of something that may be no relationship.")
    return Term(k.STRING | term.kinds & k.NULL, read_system(term, v.NAME))


def _compile_size(term: Term, select: Select) -> Term:
    if not term.kinds & k.STRING:
        raise CannotRun("size() of something that is no string.")
    if term.kinds & ~(k.STRING | k.NULL):
        select.add_guard(f"{render_bound(term)} && !{render_is(term, k.STRING)}")
    mark = NARROW if not term.kinds & ~(k.STRING | k.NULL) else ""
    return Term(k.INTEGER | term.kinds & k.NULL, f"STRLEN{mark}({term.text})")


def _compile_length(argument: Expression, select: Select) -> Term:
    made = select.composites.get(argument.name) if isinstance(argument, Variable) else None
    if made is None or made.shape is not Shape.PATH:
        raise CannotRun("length() of something that is no path of single relationships.")
    source = Source(None, len(made.parts) // 2)
    text = select.statement.bindings.bind(source)
    parts = [part for _, part in made.parts if isinstance(part, Term) and part.kinds & k.NULL]
    if not parts:
        return Term(k.INTEGER, text, source=source)
    bound = " && ".join(map(render_bound, parts))
    return Term(k.INTEGER | k.NULL, f"IF({bound}, {text}, ?null)")


def _compile_end(term: Term, end: Iri) -> Term:
    if term.kinds & ~k.NULL != k.RELATIONSHIP:
        raise CannotRun("An end of something that may be no relationship.")
    return Term(k.NODE | term.kinds & k.NULL, read_system(term, end), term.owner)


def find_model(call: FunctionCall) -> tuple[str, bool] | None:
    """Return the model of `is_of_model()` and whether it is exact; None: it is computed."""
    match call.arguments[1:]:
        case (Literal(value=str(model_id)), Literal(value=True | "exact")):
            found = model_id, True
        case (Literal(value=str(model_id)),) | (Literal(value=str(model_id)), Literal(value=False)):
            found = model_id, False
        case _:
            return None
    return found if model_id.startswith("dtmi:") else None


def _compile_is_of_model(call: FunctionCall, compile_term: CompileTerm, select: Select) -> Term:
    found = find_model(call)
    if found is None:
        raise CannotRun("is_of_model() of a computed model, or of something that is no model id.")
    model_id, exact = found
    term = compile_term(call.arguments[0])
    if term.kinds == k.NULL:
        return NULL_TERM
    if term.kinds & ~k.NULL != k.NODE:
        raise CannotRun("is_of_model() of something that may be no node.")
    text = render_of_model(model_id, read_system(term, v.MODEL), select.statement, exact=exact)
    if term.kinds & k.NULL:
        text = f"IF({render_bound(term)}, {text}, ?null)"
    return Term(k.BOOLEAN | term.kinds & k.NULL, text)
