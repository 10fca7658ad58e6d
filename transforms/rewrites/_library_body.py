"""The function on memrefs through which an op calls a library."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from linalg_ext.bindings import arith, cf, func, ir, linalg, memref, passmanager
from linalg_ext.libraries import Gemm
from linalg_ext.transforms.ir_utils.arithmetic import index
from linalg_ext.transforms.ir_utils.generics import iterators
from linalg_ext.transforms.ir_utils.walking import element_type, operations

from ._adoption import adopt
from ._library_gemm import gemm_function
from .library_choice import Chosen, operand_type

_CHECKS = "builtin.module(generate-runtime-verification)"
_CONVERSION = "builtin.module(convert-linalg-to-std)"


class CallBody:
    """The function on memrefs for one op: it checks their shapes, copies them, and calls.

    Attributes:
        copied: the operands that are copied at each call.
    """

    def __init__(self, symbol: str, chosen: Chosen, types: Sequence[Any], maps: Any) -> None:
        self.copied: list[int] = []
        self._symbol = symbol
        self._chosen = chosen
        self._types = types
        self._maps = maps
        self._affine_maps = [ir.AffineMapAttr(map_).value for map_ in maps]

    def module(self, *, overwrites: bool) -> ir.Module:
        """A module of the function and those that it calls."""
        module = ir.Module.create()
        outer, given = _function(module, self._symbol, self._types)
        with ir.InsertionPoint(outer):
            self._generic(given)
            func.ReturnOp([])
        (generic,) = operations(module, {"linalg.generic"})
        with ir.InsertionPoint(generic):
            self._check_sizes(given)
        if not all(map_.is_projected_permutation for map_ in self._affine_maps):
            _run(module, _CHECKS)
            (generic,) = operations(module, {"linalg.generic"})
        inner = f"{self._symbol}.native"
        with ir.InsertionPoint(generic):
            given = list(generic.operands)
            fitted = [self._fitted(number, value) for number, value in enumerate(given)]
            passed = [self._opened(number, value) for number, value in enumerate(fitted)]
            func.CallOp([], inner, passed)
            for number in self.copied:
                if number >= self._chosen.inputs:
                    memref.copy(fitted[number], given[number])
        generic.erase()
        native = self._native(inner, [value.type for value in passed], overwrites)
        adopt(module.operation, native)
        return module

    def _check_sizes(self, given: Sequence[Any]) -> None:
        """Check that sizes agree which one dimension of the op gives.

        Upstream's checks leave out what a loop nest of no iterations would not read; but a library
        relies on the sizes that it is given.
        """
        first: dict[str, tuple[int, int]] = {}
        for number, map_ in enumerate(self._affine_maps):
            for axis, place in enumerate(map_.results):
                if not isinstance(place, ir.AffineDimExpr):
                    continue
                other, other_axis = first.setdefault(str(place), (number, axis))
                one, another = given[other], given[number]
                if (number, axis) == (other, other_axis) or not (
                    one.type.is_dynamic_dim(other_axis) or another.type.is_dynamic_dim(axis)
                ):
                    continue
                equal = arith.cmpi(
                    arith.CmpIPredicate.eq, _size(one, other_axis), _size(another, axis)
                )
                cf.AssertOp(
                    equal,
                    f"axis {axis} of operand {number} of `{self._chosen.native.function.symbol}` "
                    f"is not as long as axis {other_axis} of operand {other}",
                )

    def _native(self, name: str, types: Sequence[Any], overwrites: bool) -> ir.Module:
        """The call itself: by upstream's conversion, or as CBLAS wants it."""
        native = self._chosen.native
        if isinstance(native.function, Gemm) and self._chosen.product is not None:
            return ir.Module.parse(
                gemm_function(
                    name,
                    native.linked_name,
                    native.function,
                    self._chosen.product,
                    overwrites=overwrites,
                )
            )
        module = ir.Module.create()
        block, given = _function(module, name, types)
        with ir.InsertionPoint(block):
            self._generic(given, native.symbol)
            func.ReturnOp([])
        _run(module, _CONVERSION)
        return module

    def _generic(self, operands: Sequence[Any], library_call: str | None = None) -> None:
        """The op with its operands' shapes alone: its body computes nothing."""
        inputs = self._chosen.inputs
        maps = self._affine_maps
        # An iterator is what its use in the outputs makes it; the shapes hang on nothing else.
        written = {str(expr) for map_ in maps[inputs:] for expr in map_.results}
        kinds = [
            "parallel" if f"d{dim}" in written else "reduction" for dim in range(maps[0].n_dims)
        ]
        generic = linalg.GenericOp(
            result_tensors=[],
            inputs=operands[:inputs],
            outputs=operands[inputs:],
            indexing_maps=self._maps,
            iterator_types=iterators(kinds),
            library_call=library_call,
        )
        block = generic.regions[0].blocks.append(*(element_type(value.type) for value in operands))
        with ir.InsertionPoint(block):
            linalg.YieldOp(list(block.arguments)[inputs:])

    def _fitted(self, number: int, value: Any) -> Any:
        """An operand that lies as the function takes it: itself, or a dense copy."""
        type_ = value.type
        taken = self._chosen.native.function.operands[number]
        if not isinstance(type_, ir.MemRefType) or taken.takes_layout_of(operand_type(type_)):
            return value
        self.copied.append(number)
        sizes = [_size(value, axis) for axis in range(type_.rank) if type_.is_dynamic_dim(axis)]
        fresh = memref.alloc(ir.MemRefType.get(type_.shape, type_.element_type), sizes, [])
        memref.copy(value, fresh)
        return fresh

    def _opened(self, number: int, value: Any) -> Any:
        """An operand of the very type that the function takes: one function has one declaration."""
        taken = ir.Type.parse(str(self._chosen.native.function.operands[number]))
        return value if value.type == taken else memref.cast(taken, value)


def _function(module: ir.Module, name: str, types: Sequence[Any]) -> tuple[ir.Block, list[Any]]:
    """A function without results in a module: its block and its arguments."""
    with ir.InsertionPoint(module.body):
        function = func.FuncOp(name, (list(types), []))
    function.attributes["sym_visibility"] = ir.StringAttr.get("private")
    block = function.add_entry_block()
    return block, list(block.arguments)


def _size(value: Any, axis: int) -> Any:
    return memref.dim(value, index(axis))


def _run(module: ir.Module, pipeline: str) -> None:
    passmanager.PassManager.parse(pipeline).run(module.operation)
