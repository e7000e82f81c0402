"""How rules are compiled: once, as part of the loop that uses them.

Numba makes every compiled function ready to be called from Python: it optimises it together with everything beneath
it, generates machine code and wraps it. For rules, which only other rules call, that work is thrown away, and it grows
with the depth of calls: compiling a family took a minute. `RuleCompiler` stops at the unoptimised code, which Numba
links into the caller; only the loop itself is optimised and turned into machine code, with all its rules at once.
"""

from __future__ import annotations

from typing import Any

from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering


class _RuleLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is linked into others and never runs by itself."""

    def _optimize_final_module(self) -> None:
        """The library that this one is linked into is optimised instead."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


def _placeholder() -> Any:
    """Stands for the Python callable that a rule does not have.

    Numba insists on a builtin and tells overloads apart by it: a new one each time. Calling a rule from Python ends
    here, with a TypeError because this method takes no arguments.
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
        state.reload_init.extend(state.library._reload_init)
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
