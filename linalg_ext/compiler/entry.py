"""The entry that native callers see, wrapped around the module's own function.

before:
    func.func @f(%a: tensor<4xf32>) -> tensor<4xf32> { ... }
after:
    func.func private @lx.f(%a: tensor<4xf32>) -> tensor<4xf32> { ... }
    func.func @lx_entry_f(%a: memref<4xf32>, %out: memref<4xf32>, %status: memref<1xi64>)
        attributes {llvm.emit_c_interface, linalg_ext.status} {
      %0 = bufferization.to_tensor %a restrict : memref<4xf32> to tensor<4xf32>
      %1 = call @lx.f(%0) : (tensor<4xf32>) -> tensor<4xf32>
      bufferization.materialize_in_destination %1 in restrict writable %out
      return
    }

Results of a known shape are written to memory that the caller brings. A tensor whose shape only
the run can tell is put into a fresh allocation and returned, computed there where its size is known
early enough (`linalg-ext-prepare-destinations`); memrefs are returned as they come.
"""

from __future__ import annotations

from typing import Any

from linalg_ext.bindings import arith, bufferization, func, ir, memref, tensor
from linalg_ext.errors import SignatureError
from linalg_ext.executable.signature import ArrayType, Entry, ScalarType, Signature, ValueType
from linalg_ext.transforms.ir_utils.module_functions import ARGUMENTS, attributes_of_arguments
from linalg_ext.transforms.ir_utils.walking import function_type, functions, is_private, name_of

PREFIX = "lx."
"""Put before every symbol that a module defines.

A user's function with the name `exp` would otherwise be called by LLVM in the place of libm's.
"""

STATUS_ATTRIBUTE = "linalg_ext.status"
"""Marks the entry whose last argument, a memref<1xi64>, takes the number of a failed assertion."""


def find_entry(module: ir.Module, name: str | None) -> Any:
    """Return the `func.func` to call: the one called `name`, or the only public one.

    Raises:
        SignatureError: there is none, or several and no name; the message lists its functions.
    """
    known = {name_of(function): function for function in functions(module)}
    listing = ", ".join(f"`{function}`" for function in known)
    if not known:
        raise SignatureError(
            "the module has no function to call",
            expected="a func.func with a body at its top level",
        )
    if name is not None:
        if name not in known:
            raise SignatureError(
                f"the module has no function `{name}`", expected=f"one of {listing}"
            )
        return known[name]
    public = [op for op in known.values() if not is_private(op)] or list(known.values())
    if len(public) > 1:
        raise SignatureError(
            "the module has several functions, and none was named",
            hint=f"choose one with entry=...: {listing}",
        )
    return public[0]


def wrap_entry(module: ir.Module, function: Any, signature: Signature) -> Entry:
    """Add the native entry to `module`, in place, and hide everything else in it."""
    _hide_symbols(module)
    inner, types = name_of(function), function_type(function)
    own_results = list(types.results)
    destinations = tuple(r.position for r in signature.results if _is_destination(r.type))
    returned = tuple(r.position for r in signature.results if not _is_destination(r.type))

    with ir.Location.unknown(module.context), ir.InsertionPoint(module.body):
        inputs = [_argument_type(type_) for type_ in types.inputs]
        outputs = [_argument_type(own_results[index], force=True) for index in destinations]
        status = ir.MemRefType.get([1], ir.IntegerType.get_signless(64))
        symbol = _symbol(signature.name)
        wrapper = func.FuncOp(
            symbol,
            (
                [*inputs, *outputs, status],
                [_row_major(ir.ShapedType(own_results[index])) for index in returned],
            ),
        )
        wrapper.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        wrapper.attributes[STATUS_ATTRIBUTE] = ir.UnitAttr.get()
        if ARGUMENTS in function.attributes:
            # Attributes of others may hold for tensors alone.
            attributes = attributes_of_arguments(function, "linalg_ext.")
            nothing = [ir.DictAttr.get({})] * (len(outputs) + 1)
            wrapper.attributes[ARGUMENTS] = ir.ArrayAttr.get([*attributes, *nothing])
        block = wrapper.add_entry_block()
        with ir.InsertionPoint(block):
            arguments = list(block.arguments)
            values = [
                _as_tensor(argument, type_)
                for argument, type_ in zip(arguments[: len(inputs)], types.inputs, strict=True)
            ]
            call = func.CallOp(own_results, inner, values)
            results = list(call.operation.results)
            for index, destination in zip(destinations, arguments[len(inputs) : -1], strict=True):
                _store(results[index], signature.results[index].type, destination)
            func.ReturnOp([_returned(results[index]) for index in returned])
    return Entry(symbol, destinations, returned)


def _is_destination(type_: ValueType) -> bool:
    return isinstance(type_, ScalarType) or (type_.kind == "tensor" and type_.is_static)


def _symbol(name: str) -> str:
    return "lx_entry_" + "".join(c if c.isascii() and c.isalnum() else "_" for c in name)


def _hide_symbols(module: ir.Module) -> None:
    """Rename the module's own functions, make them private, and remove their C interfaces."""
    defined = {
        name_of(op): op.operation
        for op in module.body.operations
        if "sym_name" in op.operation.attributes and not is_declaration(op.operation)
    }
    # The longest first: `lx.f` is out of the way when `f` takes its name.
    for name in sorted(defined, key=len, reverse=True):
        operation = defined[name]
        ir.SymbolTable.replace_all_symbol_uses(name, PREFIX + name, module.operation)
        ir.SymbolTable.set_symbol_name(operation, PREFIX + name)
        operation.attributes["sym_visibility"] = ir.StringAttr.get("private", module.context)
        if "llvm.emit_c_interface" in operation.attributes:
            del operation.attributes["llvm.emit_c_interface"]


def is_declaration(operation: ir.Operation) -> bool:
    """Return whether an operation declares a function that another module defines."""
    return operation.name in ("func.func", "llvm.func") and not len(operation.regions[0].blocks)


def _argument_type(type_: ir.Type, *, force: bool = False) -> ir.Type:
    """Return the native argument's type: memrefs for tensors, with `force` for scalars too."""
    if isinstance(type_, ir.RankedTensorType):
        return ir.MemRefType.get(type_.shape, type_.element_type)
    if force and not isinstance(type_, ir.MemRefType):
        return ir.MemRefType.get([], type_)
    return type_


def _as_tensor(argument: ir.Value, type_: ir.Type) -> ir.Value:
    if not isinstance(type_, ir.RankedTensorType):
        return argument
    return bufferization.to_tensor(type_, argument, restrict=True)


def _store(value: ir.Value, type_: ValueType, destination: ir.Value) -> None:
    if isinstance(type_, ArrayType):
        bufferization.MaterializeInDestinationOp(
            None, value, destination, restrict=True, writable=True
        )
    else:
        memref.store(value, destination, [])


def _returned(value: ir.Value) -> ir.Value:
    """Return the buffer to hand back, in row-major order.

    A tensor or a strided view is copied into a new buffer.
    """
    type_ = ir.ShapedType(value.type)
    is_tensor = isinstance(value.type, ir.RankedTensorType)
    if not is_tensor and value.type == _row_major(type_):
        return value
    dim = tensor.dim if is_tensor else memref.dim
    sizes = [
        dim(value, arith.constant(ir.IndexType.get(), axis))
        for axis in range(type_.rank)
        if type_.is_dynamic_dim(axis)
    ]
    fresh = memref.alloc(_row_major(type_), sizes, [])
    if is_tensor:
        bufferization.MaterializeInDestinationOp(None, value, fresh, restrict=True, writable=True)
    else:
        memref.copy(value, fresh)
    return fresh


def _row_major(type_: ir.ShapedType) -> ir.MemRefType:
    return ir.MemRefType.get(type_.shape, type_.element_type)
