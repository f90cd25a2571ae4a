"""The data classes of the project: the standard library's, whose methods are made at first use.

PERF: `dataclasses.dataclass` compiles five functions for a frozen class, 0.8 ms of processor each
(Python 3.11); here a class takes 0.06 ms until it is used. A process imports some 500 of them and
uses a quarter.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from reprlib import recursive_repr
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, Final, NoReturn

__all__ = ["dataclass"]

_INITIAL: Final = object()
"""Stands for an argument that is not given, whose value a factory makes."""

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        cls: type | None = None,
        /,
        *,
        frozen: bool = False,
        eq: bool = True,
        order: bool = False,
        slots: bool = False,
        kw_only: bool = False,
    ) -> Any:
        """Make a class a data class, as `dataclasses.dataclass` does with these arguments.

        Fields are no `InitVar`. Until the first instance is made, its signature is not known.
        """

        def build(given: type) -> type:
            if order:  # few
                return dataclasses.dataclass(
                    frozen=frozen, eq=eq, order=True, slots=slots, kw_only=kw_only
                )(given)
            made = dataclasses.dataclass(
                init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
            )(given)
            _add_methods(made, given.__dict__, frozen=frozen, eq=eq)
            return made

        return build if cls is None else build(cls)


def _add_methods(cls: Any, own: Any, *, frozen: bool, eq: bool) -> None:
    """Add what the body of the class, `own`, does not define itself."""
    if "__init__" not in own:
        _defer(cls, "__init__", lambda: _build_init(cls, frozen=frozen))
    if "__repr__" not in own:
        cls.__repr__ = _render
    # NOTE: a body with `__eq__` has `__hash__ = None` from Python.
    has_hash = own.get("__hash__") is not None or ("__hash__" in own and "__eq__" not in own)
    if eq and "__eq__" not in own:
        _defer(cls, "__eq__", lambda: _build_eq(cls))
    if eq and not has_hash:
        if frozen:
            _defer(cls, "__hash__", lambda: _build_hash(cls))
        else:
            cls.__hash__ = None
    if frozen:
        cls.__setattr__ = _refuse_to_set
        cls.__delattr__ = _refuse_to_delete
        if "__slots__" in cls.__dict__ and "__getstate__" not in own:
            cls.__getstate__ = _read_state
            cls.__setstate__ = _write_state


def _defer(cls: Any, name: str, build: Callable[[], Any]) -> None:
    """Give the class a method that puts the one which `build` makes in its own place."""

    def first(self: object, *values: Any, **named: Any) -> Any:
        made = build()
        setattr(cls, name, made)
        return made(self, *values, **named)

    first.__name__ = name
    first.__qualname__ = f"{cls.__qualname__}.{name}"
    setattr(cls, name, first)


def _build_init(cls: Any, *, frozen: bool) -> Any:
    names: dict[str, Any] = {"_INITIAL": _INITIAL}
    positional, lines = ["self"], list[str]()
    named: list[str] = []
    for field in dataclasses.fields(cls):
        own, value = field.name, field.name
        if field.default_factory is not dataclasses.MISSING:
            names[f"_new_{own}"] = field.default_factory
            value = f"_new_{own}()"
        elif field.default is not dataclasses.MISSING:
            names[f"_default_{own}"] = field.default
            value = f"_default_{own}"
        elif not field.init:
            continue
        if field.init:
            parameter = own
            if field.default_factory is not dataclasses.MISSING:
                parameter = f"{own}=_INITIAL"
                value = f"{value} if {own} is _INITIAL else {own}"
            elif field.default is not dataclasses.MISSING:
                parameter, value = f"{own}={value}", own
            (named if field.kw_only else positional).append(parameter)
        lines.append(_render_assignment(cls, own, value, names, frozen=frozen))
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    parameters = [*positional, *(["*", *named] if named else [])]
    return _compile(cls, "__init__", parameters, lines or ["pass"], names)


def _render_assignment(
    cls: Any, name: str, value: str, names: dict[str, Any], *, frozen: bool
) -> str:
    if not frozen:
        return f"self.{name} = {value}"
    slot = getattr(cls, name, None)
    if isinstance(slot, MemberDescriptorType):
        # PERF: a third faster than `object.__setattr__`.
        names[f"_set_{name}"] = slot.__set__
        return f"_set_{name}(self, {value})"
    names["_set"] = object.__setattr__
    return f"_set(self, {name!r}, {value})"


def _build_eq(cls: Any) -> Any:
    compared = [field.name for field in dataclasses.fields(cls) if field.compare]
    lines = [
        "if other.__class__ is self.__class__:",
        f" return {_render_tuple('self', compared)} == {_render_tuple('other', compared)}",
        "return NotImplemented",
    ]
    return _compile(cls, "__eq__", ["self", "other"], lines, {})


def _build_hash(cls: Any) -> Any:
    hashed = [
        field.name
        for field in dataclasses.fields(cls)
        if (field.compare if field.hash is None else field.hash)
    ]
    return _compile(
        cls, "__hash__", ["self"], [f"return hash({_render_tuple('self', hashed)})"], {}
    )


def _render_tuple(owner: str, names: list[str]) -> str:
    return f"({''.join(f'{owner}.{name},' for name in names)})"


def _compile(
    cls: Any, name: str, parameters: list[str], lines: list[str], names: dict[str, Any]
) -> Any:
    body = "\n".join(f" {line}" for line in lines)
    exec(f"def {name}({', '.join(parameters)}):\n{body}", names)  # noqa: S102  (of fields alone, as the standard library does)
    made = names.pop(name)
    made.__qualname__ = f"{cls.__qualname__}.{name}"
    made.__module__ = cls.__module__
    return made


@recursive_repr()
def _render(self: Any) -> str:
    shown = (
        f"{one.name}={getattr(self, one.name)!r}" for one in dataclasses.fields(self) if one.repr
    )
    return f"{type(self).__qualname__}({', '.join(shown)})"


def _refuse_to_set(_self: object, name: str, _value: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(_self: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _read_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _write_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
