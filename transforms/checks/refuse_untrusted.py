"""Refuse operations by which an untrusted module reaches beyond its own values and memrefs.

That is: ops of the LLVM dialect that are not arithmetic on values, and pointers of any kind; casts
that make a memref, or a function, of something else; functions that are only declared, of which a
few are known to be harmless; attributes that place code, change its calling convention, or run it
when it is loaded; variables of the process. A module without these passes unchanged. The pass does
not check that accesses of memrefs are in bounds.

refused:
    func.func private @system(!llvm.ptr) -> i32
    func.func @f(%command: !llvm.ptr) -> i32 {
      %0 = call @system(%command) : (!llvm.ptr) -> i32
      return %0 : i32
    }
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from linalg_ext.bindings import ir
from linalg_ext.errors import UntrustedError
from linalg_ext.rewriting import module_pass
from linalg_ext.transforms.ir_utils.walking import name_of, place, select

_MATHEMATICS = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2
    expm1 fabs fdim floor fma fmax fmin fmod hypot ilogb ldexp lgamma llrint llround log
    log10 log1p log2 logb lrint lround nearbyint nextafter nexttoward pow remainder
    rint round roundeven scalbln scalbn sin sinh sqrt tan tanh tgamma trunc
"""
"""Functions of <math.h>; each for double, with an `f` for float and an `l` for long double."""

_COMPLEX = """
    cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj
    creal csin csinh csqrt ctan ctanh
"""
"""Functions of <complex.h>; likewise."""

_PLAIN = "abs labs llabs div ldiv lldiv"
"""Functions of <stdlib.h>: arithmetic of integers."""

KNOWN = frozenset(
    [
        *(name + suffix for name in (_MATHEMATICS + _COMPLEX).split() for suffix in ("", "f", "l")),
        *_PLAIN.split(),
    ]
)
"""Functions outside a module that it may call: they take and give numbers, and no pointers."""

_OPS = """
    add and ashr bitcast extractelement extractvalue fadd fcmp fdiv fmul fneg fpext fptosi fptoui
    fptrunc freeze frem fsub icmp insertelement insertvalue lshr mlir.constant mlir.poison
    mlir.undef mlir.zero mul or sdiv select sext shl shufflevector sitofp srem sub trunc udiv
    uitofp urem xor zext
"""

_INTRINSICS = """
    abs acos asin atan atan2 bitreverse bswap ceil copysign cos cosh ctlz ctpop cttz exp exp10 exp2
    fabs floor fma fmuladd frexp fshl fshr is.fpclass ldexp llrint llround log log10 log2 lrint
    lround maximum maxnum minimum minnum nearbyint pow powi rint round roundeven sadd.sat
    sadd.with.overflow scmp sin sincos sinh smax smin smul.with.overflow sqrt sshl.sat ssub.sat
    ssub.with.overflow tan tanh trunc uadd.sat uadd.with.overflow ucmp umax umin umul.with.overflow
    ushl.sat usub.sat usub.with.overflow vector.deinterleave2 vector.extract vector.insert
    vector.interleave2 vector.reduce.add vector.reduce.and vector.reduce.fadd vector.reduce.fmax
    vector.reduce.fmaximum vector.reduce.fmin vector.reduce.fminimum vector.reduce.fmul
    vector.reduce.mul vector.reduce.or vector.reduce.smax vector.reduce.smin vector.reduce.umax
    vector.reduce.umin vector.reduce.xor
"""

INTRINSICS = frozenset(_INTRINSICS.split())
"""LLVM's intrinsics that compute values of values, without the names of their types."""

ARITHMETIC = frozenset(
    [
        *(f"llvm.{name}" for name in _OPS.split()),
        *(f"llvm.intr.{name}" for name in _INTRINSICS.split()),
    ]
)
"""Ops of the LLVM dialect that do."""

_ATTRIBUTES = """
    sym_name sym_visibility function_type arg_attrs res_attrs callee no_inline always_inline
    inline_hint cold hot memory_effects no_unwind will_return
"""

HARMLESS_ATTRIBUTES = frozenset(_ATTRIBUTES.split())
"""The attributes of LLVM's functions and calls that untrusted modules may set."""


NAME = "linalg-ext-refuse-untrusted"

_FUNCTIONS = frozenset({"func.func", "llvm.func"})
_CALLS = frozenset({"func.call", "func.call_indirect"})
_CAST = "builtin.unrealized_conversion_cast"
_POINTERS = ("llvm.", "ptr.")
"""Dialects that address memory."""

_CHECKED = frozenset({*_FUNCTIONS, *_CALLS, _CAST, "memref.global"})
"""Ops of other dialects that may reach beyond the module."""

_MOST_NAMED = 8

_DANGERS: Mapping[str, str] = {
    "llvm.inline_asm": "inline assembly",
    "llvm.inttoptr": "a pointer made of an integer",
    "llvm.mlir.alias": "another name for a symbol of the process",
    "llvm.mlir.ifunc": "a function that is chosen when the module is loaded",
    "llvm.mlir.global_ctors": "code that runs when the module is loaded",
    "llvm.mlir.global_dtors": "code that runs when the module is unloaded",
}
"""Plainer names of refused ops, where there are such."""

_HARMLESS_OF_ARGUMENTS = frozenset({"llvm.noalias", "llvm.readonly", "llvm.writeonly"})


@module_pass(NAME)
def refuse_untrusted(module: ir.Operation) -> None:
    """Refuse a module that reaches beyond itself.

    Raises:
        UntrustedError: names each thing that does, and its place.
    """
    check_trust(module, provided=lambda name: False)


def check_trust(module: ir.Operation, *, provided: Callable[[str], bool]) -> None:
    """Check a module as the pass does, but trust the functions of the caller's libraries.

    Args:
        module: read, not changed.
        provided: returns whether a library that the caller gave has the function of a name.

    Raises:
        UntrustedError: names each thing that reaches beyond the module, and its place.
    """
    dangers = [
        (danger, place(op))
        for op in select(module, lambda op: op.name.startswith(_POINTERS) or op.name in _CHECKED)
        for danger in _dangers_of(op, provided)
    ]
    if not dangers:
        return
    more = len(dangers) - _MOST_NAMED
    raise UntrustedError(
        f"the module holds {dangers[0][0]}",
        where=dangers[0][1],
        expected="a module that calls nothing but mathematics and functions of the given "
        "libraries, and addresses no memory but that of memrefs",
        hint="pass the library that has it as libraries=[...], or trusted=True for a module "
        "whose author you trust",
        notes=[
            *(f"also {danger}: {where}" for danger, where in dangers[1:_MOST_NAMED]),
            *([f"and {more} more"] if more > 0 else []),
        ],
    )


def _dangers_of(op: Any, provided: Callable[[str], bool]) -> Iterator[str]:
    name = op.name
    if name in _FUNCTIONS:
        yield from _of_function(op, provided)
    elif name in _CALLS:
        yield from _of_attributes(op)
    elif name == _CAST:
        if not all(_is_value(value.type) for value in (*op.operands, *op.results)):
            yield "a cast between memory, or functions, and something else"
    elif name == "memref.global":
        if "initial_value" not in op.attributes:
            yield f"the declaration of the variable `{name_of(op)}`, which is not its own"
    elif name == "llvm.mlir.global":
        yield f"the variable `{name_of(op)}` of the process"
    elif name not in ARITHMETIC:
        yield _DANGERS.get(name) or f"{name}, which is not arithmetic on values"
    elif any("ptr" in str(result.type) for result in op.results):
        yield f"{name} of a pointer"


def _of_function(op: Any, provided: Callable[[str], bool]) -> Iterator[str]:
    yield from _of_attributes(op)
    if len(op.regions[0].blocks):
        if op.name == "llvm.func":
            yield f"the function `{name_of(op)}` of the LLVM dialect"
        return
    name = name_of(op)
    if not (name in KNOWN or _is_intrinsic(name) or provided(name)):
        yield f"the declaration of the function `{name}`, which is not its own"


def _of_attributes(op: Any) -> Iterator[str]:
    """Yield the attributes of a function or call that untrusted modules may not set."""
    for name in op.attributes:
        if name in ("arg_attrs", "res_attrs"):
            for dictionary in ir.ArrayAttr(op.attributes[name]):
                attributes: Any = ir.DictAttr(dictionary)
                for own in attributes:
                    if own.name.startswith("llvm.") and own.name not in _HARMLESS_OF_ARGUMENTS:
                        yield f"the attribute `{own.name}` of an argument"
            continue
        plain = name.removeprefix("llvm.")
        if plain not in HARMLESS_ATTRIBUTES and "." not in plain and plain in _llvm_attributes():
            yield f"the attribute `{name}`"


@functools.cache
def _llvm_attributes() -> frozenset[str]:
    """Return all attributes that these bindings' functions and calls of the LLVM dialect have."""
    from linalg_ext.bindings import llvm

    kinds: tuple[Any, ...] = (llvm.LLVMFuncOp, llvm.CallOp)
    return frozenset(
        name
        for kind in kinds
        for base in kind.__mro__
        for name, member in vars(base).items()
        if isinstance(member, property)
    )


def _is_intrinsic(name: str) -> bool:
    """Return whether LLVM takes a function of this name for an intrinsic that is arithmetic."""
    head, *parts = name.split(".")
    return head == "llvm" and any(
        ".".join(parts[:count]) in INTRINSICS for count in range(1, len(parts) + 1)
    )


def _is_value(type_: Any) -> bool:
    """Return whether a type is of numbers alone, or of vectors or tensors of them."""
    if isinstance(type_, ir.VectorType | ir.RankedTensorType | ir.UnrankedTensorType):
        type_ = type_.element_type
    return isinstance(type_, ir.IntegerType | ir.IndexType | ir.FloatType | ir.ComplexType)
