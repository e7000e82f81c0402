"""How rules get into the loop that uses them.

Numba makes every compiled function ready to be called from Python: it optimises it together with everything beneath
it, generates machine code and wraps it. For rules, which the loop calls, that work is thrown away, and it grows with
the depth of calls: compiling a family took a minute. So the loop does not call the rules themselves but copies of them
(`Linker`), which stop at the unoptimised code (`RuleCompiler`). Numba links that into the loop, and only the loop is
optimised and turned into machine code, with all its rules at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import update_wrapper
from types import CellType, FunctionType
from typing import Any

import numba
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.dispatcher import Dispatcher
from numba.core.typed_passes import NativeLowering

from heliotrope.engine.sources import sources_digest


class _RuleLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into others and never runs by itself."""

    def _optimize_final_module(self) -> None:
        """The library that this one is linked into is optimised instead."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


def _placeholder() -> Any:
    """Stands for the Python callable that a linked function does not have.

    Numba insists on a builtin and tells overloads apart by it: a new one each time.
    """
    return {}.clear


@register_pass(mutates_CFG=True, analysis_only=False)
class RuleLowering(NativeLowering):  # type: ignore[misc]
    """Lowering to LLVM's language without machine code and without wrappers."""

    _name = "rule_lowering"

    def run_pass(self, state: Any) -> bool:
        """Lower the function of a compilation."""
        state.library = _RuleLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        wanted = {"no_compile": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        for flag, value in wanted.items():
            setattr(state.flags, flag, value)
        super().run_pass(state)
        result = state["cr"]
        # What to run when the code is loaded from the cache; older versions of Numba keep it elsewhere.
        state.reload_init.extend(getattr(state.library, "_reload_init", ()))
        placeholder = _placeholder()
        state.targetctx.insert_user_function(placeholder, result.fndesc, [state.library])
        state["cr"] = _LowerResult(result.fndesc, result.call_helper, cfunc=placeholder, env=result.env)
        return True


class RuleCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's pipeline for compiled functions, with `RuleLowering` at its end."""

    def define_pipelines(self) -> list[PassManager]:
        """The one pipeline."""
        pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
        pipeline.passes = [
            (RuleLowering, text) if step is NativeLowering else (step, text) for step, text in pipeline.passes
        ]
        pipeline._finalized = False
        pipeline.finalize()
        return [pipeline]


def linked(function: Any, *, counting: bool, inlined: bool) -> Any:
    """Compile a function for the use of other compiled functions only.

    All options are set, because a function that is compiled on behalf of another inherits those that are not.

    Args:
        function: a plain function.
        counting: with reference counting. Without it a function runs faster, but must not make arrays.
        inlined: inline it where it is called. For functions with one caller: a copy of the body at every call would
            bloat the loop.
    """
    return numba.njit(
        function, error_model="numpy", nogil=True, _nrt=counting, forceinline=inlined, pipeline_class=RuleCompiler
    )


def copy_function(
    function: Any, names: dict[str, Any], qualname: str, cells: tuple[CellType, ...] = ()
) -> FunctionType:
    """A copy of a plain function in which the global `names` (and the enclosed `cells`) stand for other objects."""
    copy = FunctionType(function.__code__, names, qualname, function.__defaults__, cells)
    copy.__qualname__ = qualname
    copy.__module__ = function.__module__
    return copy


_INLINED = "inlined_rule"


def mark_inlined(function: Any) -> None:
    """Have the linker inline a plain function where it is called."""
    setattr(function, _INLINED, True)


def is_inlined(function: Any) -> bool:
    """Whether `mark_inlined` was asked."""
    return bool(getattr(function, _INLINED, False))


class Linker:
    """Makes linked copies of rules, and of all rules that they call by name."""

    def __init__(self) -> None:
        self._copies: dict[tuple[Any, bool], Any] = {}

    def link(self, rule: Any, *, inlined: bool = False) -> Any:
        """The linked copy of a rule."""
        key = (rule, inlined)
        if key not in self._copies:
            function = rule.py_func
            names = dict(function.__globals__)
            cells = tuple(CellType() for _ in function.__closure__ or ())
            copy = copy_function(function, names, function.__qualname__, cells)
            # Before those that it calls: one of them may be itself.
            self._copies[key] = linked(copy, counting=False, inlined=inlined or is_inlined(function))
            self._link_names(names, function.__code__.co_names)
            for cell, original in zip(cells, function.__closure__ or ()):
                cell.cell_contents = self._link_value(original.cell_contents)
        return self._copies[key]

    def _link_names(self, names: dict[str, Any], used: tuple[str, ...]) -> None:
        for name in used:
            if name in names:
                names[name] = self._link_value(names[name])

    def _link_value(self, value: Any) -> Any:
        return self.link(value) if isinstance(value, Dispatcher) else value

    def copy_names(self, function: FunctionType) -> dict[str, Any]:
        """The global names of a plain function, in which linked copies stand for the rules that it calls."""
        names = dict(function.__globals__)
        self._link_names(names, function.__code__.co_names)
        return names


class Kernel:
    """A compiled function for Python to call, made of compiled functions; see `kernel`."""

    def __init__(self, function: FunctionType, packages: tuple[str, ...]) -> None:
        update_wrapper(self, function)
        self._function = function
        self._packages = packages
        self._compiled: Any = None
        self._lock = threading.Lock()

    def __call__(self, *arguments: Any) -> Any:
        """Run it; compiled, or loaded from the cache on disk, when it first meets arguments of these types."""
        if self._compiled is None:
            with self._lock:
                self._compiled = self._compiled or self._link()
        return self._compiled(*arguments)

    def _link(self) -> Any:
        digest = sources_digest(("engine", *self._packages)).hex()[:12]
        names = Linker().copy_names(self._function)
        copy = copy_function(self._function, names, f"{self._function.__name__}_{digest}")
        options = {"error_model": "numpy", "nogil": True}
        try:
            return numba.njit(copy, cache=True, **options)
        except RuntimeError:
            # There is no place to write a cache to.
            return numba.njit(copy, **options)


def kernel(*packages: str) -> Callable[[Callable[..., Any]], Kernel]:
    """Compile a function that Python calls with arrays, and keep it on disk until one of its sources changes.

    The compiled functions that it calls become part of it (`Linker`), which halves the time that compilation takes.

    Args:
        packages: the subpackages of this library that it is written in.
    """

    def decorate(function: Callable[..., Any]) -> Kernel:
        assert isinstance(function, FunctionType)
        return Kernel(function, packages)

    return decorate
