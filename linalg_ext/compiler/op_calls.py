"""An op called on arrays: compiled once for each combination of dtypes and shapes, then run."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from linalg_ext.compiler.op_call import OpCall
from linalg_ext.compiler.op_dtypes import resolve_dtypes
from linalg_ext.definition.attributes import resolve_attributes
from linalg_ext.definition.calls import per_output, split_inputs
from linalg_ext.definition.model import OpDefinition, Operand, OperandKind
from linalg_ext.errors import (
    ArgumentError,
    DTypeError,
    LinalgExtError,
    ShapeError,
    caller_location,
    kind_of,
)
from linalg_ext.executable import disk_cache
from linalg_ext.executable.arguments import as_array, is_python_number, share_memory
from linalg_ext.executable.foreign_arrays import ForeignArrays, has_foreign_arrays
from linalg_ext.executable.kernel import Kernel
from linalg_ext.executable.known_calls import KnownCalls
from linalg_ext.notations.operand_keywords import (
    mapped_shapes,
    operand_maps_key,
    take_operand_maps,
)
from linalg_ext.opdsl.op import StructuredOp
from linalg_ext.runtime.dtypes import DType, by_dtype, dtype_named
from linalg_ext.runtime.threads import checked
from linalg_ext.utils.locks import Lock

Array = np.ndarray[Any, DType]


def call_on_arrays(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Run an op on arrays.

    Args:
        op: the op.
        operands: its inputs: arrays (or objects that `numpy.asarray` takes), numbers for scalars.
        keywords: `out`, where the results go (overwritten); `init`, the start of an accumulating op
            instead of its neutral element; `dtype`, the dtype of the outputs; `threads`, how many
            may work on it; inputs and attributes by name.

    Returns:
        The result, a tuple of them where the op has several outputs. Where all arrays come from
        one other library, it is of that library.

    Raises:
        ArgumentError: of the kind of the mistake, before anything ran.
    """
    try:
        init = keywords.get("init")
        inits = init if isinstance(init, tuple) else (init,)
        if has_foreign_arrays((*operands, *keywords.values(), *inits), keywords.get("out")):
            return _with_guests(op, operands, keywords)
        return _call(op, operands, keywords)
    except LinalgExtError as error:
        error.where = error.where or caller_location()
        raise


def _with_guests(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    """Call an op with arrays that are not NumPy's."""
    guests = ForeignArrays()
    names = [operand.name for operand in op.definition.inputs]
    # An input beyond those with names is refused later.
    labels = [*names, *["an input"] * len(operands)]
    arrays = [
        guests.array(value, f"{op.op_name}: {label}")
        for value, label in zip(operands, labels, strict=False)
    ]
    own_keywords = dict(keywords)
    for name, value in keywords.items():
        label = f"{op.op_name}: {name}"
        if name == "out":
            own_keywords[name] = guests.place(value, f"{label}=")
        elif name == "init" and isinstance(value, tuple):
            own_keywords[name] = tuple(guests.array(array, label) for array in value)
        elif name in (*names, "init"):
            own_keywords[name] = guests.array(value, label)
    return guests.back(op(*arrays, **own_keywords))


def _call(op: StructuredOp, operands: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
    definition = op.definition
    given_keywords, keywords = keywords, dict(keywords)
    out = per_output(definition, "out", keywords.pop("out", None))
    init = per_output(definition, "init", keywords.pop("init", None))
    dtype = dtype_of_keyword(definition, "dtype", keywords.pop("dtype", None))
    compute_type = dtype_of_keyword(definition, "compute_type", keywords.pop("compute_type", None))
    threads = keywords.pop("threads", None)
    if threads is not None:
        checked(threads)
    operand_maps = take_operand_maps(definition, keywords)
    values = split_inputs(definition, operands, keywords)
    attributes = resolve_attributes(
        definition, keywords, also=("out", "init", "dtype", "compute_type", "threads")
    )
    inputs = {
        operand.name: _scalar(definition, operand.name, value)
        if operand.kind is OperandKind.SCALAR
        else _array(definition, operand.name, value)
        for operand, value in zip(definition.inputs, values, strict=True)
    }
    # Python's numbers have no dtype of their own, for a tensor of rank 0 no more than for a scalar.
    deciding = {
        operand.name: value if is_python_number(value) else inputs[operand.name]
        for operand, value in zip(definition.inputs, values, strict=True)
    }
    inits = {name: _array(definition, name, value) for name, value in init.items()}
    outs = {name: _out(definition, name, value) for name, value in out.items()}
    array_dtypes = {name: array.dtype for name, array in {**inits, **outs}.items()}
    dtypes = resolve_dtypes(definition, deciding, array_dtypes, dtype)
    tensors = [o for o in definition.inputs if o.kind is OperandKind.INPUT_TENSOR]
    given_shapes = {o.name: inputs[o.name].shape for o in tensors}
    known_shapes = {name: array.shape for name, array in {**inits, **outs}.items()}
    definition, shapes = mapped_shapes(
        definition, operand_maps, given_shapes, known_shapes, attributes
    )
    maps = operand_maps_key(definition) if operand_maps else ()
    call = OpCall(definition, dtypes, shapes, attributes, frozenset(inits), maps, compute_type)
    kernel = _kernel(op, call)
    arguments = [
        _fitted(definition, operand, deciding[operand.name], dtypes[str(operand.type_var)])
        for operand in definition.inputs
    ]
    arguments += [
        _converted(inits[output.name], dtypes[str(output.type_var)])
        for output in definition.outputs
        if output.name in inits
    ]
    if not isinstance(op.known_calls, KnownCalls):
        op.known_calls = KnownCalls(op)
    names = [operand.name for operand in definition.inputs] + ["init"] * len(inits)
    run = partial(_run, definition, kernel)
    if len(set(names)) == len(names):
        by_name = dict(zip(names, arguments, strict=True))
        op.known_calls.remember(operands, given_keywords, by_name, kernel.direct, run)
    if not outs:
        return run(arguments, None, threads)
    order = tuple(outs.get(output.name) for output in definition.outputs)
    return run(arguments, order if len(order) > 1 else order[0], threads)


_kernels: WeakKeyDictionary[StructuredOp, dict[tuple[object, ...], Kernel]] = WeakKeyDictionary()
_compiling = Lock()


def _kernel(op: StructuredOp, call: OpCall) -> Kernel:
    known = _kernels.get(op)
    kernel = known.get(call.key) if known is not None else None
    if kernel is None:
        with _compiling:
            kernels = _kernels.setdefault(op, {})
            kernel = kernels.get(call.key)
            if kernel is None:
                kernel = kernels[call.key] = _found_or_compiled(call)
    return kernel


def _found_or_compiled(call: OpCall) -> Kernel:
    key = call.kept_key
    kernel = disk_cache.find(key)
    if kernel is not None:
        return kernel
    # Imported only here, for it loads MLIR: a kernel that is kept does without.
    from linalg_ext.compiler.op_kernels import compile_op

    return compile_op(call, key)


def dtype_of_keyword(definition: OpDefinition, keyword: str, value: Any) -> DType | None:
    """`dtype=` or `compute_type=`.

    Raises:
        DTypeError: it is not a dtype, or none that MLIR knows.
    """
    if value is None:
        return None
    try:
        dtype = dtype_named(value)
        by_dtype(dtype)
    except (TypeError, DTypeError) as error:
        raise DTypeError(
            f"{definition.name}: {keyword}={value!r} is not a dtype that MLIR knows",
            notes=[str(error)],
        ) from None
    return dtype


def _array(definition: OpDefinition, name: str, value: Any) -> Array:
    return as_array(value, f"{definition.name}: {name}")


def _scalar(definition: OpDefinition, name: str, value: Any) -> Any:
    """Return a number as it is given: Python's take part in dtypes as weakly as in NumPy."""
    if is_python_number(value):
        return value
    array = _array(definition, name, value)
    if array.ndim:
        raise ShapeError(
            f"{definition.name}: {name} is a scalar, but an array of shape {array.shape} is given",
            expected="a number",
        )
    return array[()]


def _out(definition: OpDefinition, name: str, value: Any) -> Array:
    if not isinstance(value, np.ndarray) or isinstance(value, np.ma.MaskedArray):
        raise ArgumentError(
            f"{definition.name}: out= for {name} is {kind_of(value)}",
            expected="an array or a writable buffer, which is overwritten",
        )
    return _array(definition, name, value)


def _fitted(definition: OpDefinition, operand: Operand, value: Any, dtype: DType) -> Any:
    """Return an input in the dtype of its type variable; a Python number stays one for a scalar."""
    if not is_python_number(value):
        return _converted(value, dtype)
    if operand.kind is OperandKind.SCALAR:
        return value
    try:
        return np.asarray(value, dtype)
    except (OverflowError, TypeError) as error:
        raise DTypeError(
            f"{definition.name}: {operand.name} is {value!r}, which {dtype} cannot hold",
            hint="give it a dtype of its own, as in np.int64(...), or give dtype=",
            notes=[str(error)],
        ) from None


def _converted(value: Any, dtype: DType) -> Any:
    """Return an array cast to the dtype of its type variable; itself where it has the dtype."""
    return value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype != dtype else value


def _run(
    definition: OpDefinition,
    kernel: Kernel,
    arguments: Sequence[Any],
    out: Any,
    threads: int | None,
) -> Any:
    """Run, with the results written to `out` where it is given.

    An element-wise op may write over one of its inputs: each element is read before it is written,
    whatever the loops look like, for the result is computed aside and then copied.
    """
    if out is None:
        return kernel(*arguments, threads=threads)
    inputs = [value for value in arguments if isinstance(value, np.ndarray)]
    order = out if isinstance(out, tuple) else (out,)
    destinations = [array for array in order if array is not None]
    shared = any(share_memory(array, value) for array in destinations for value in inputs)
    if not (shared and _is_elementwise(definition)):
        return kernel(*arguments, out=out, threads=threads)
    results = kernel(*arguments, threads=threads)
    results = results if isinstance(results, tuple) else (results,)
    for array, result in zip(order, results, strict=True):
        if array is not None:
            np.copyto(array, result)
    final = tuple(r if array is None else array for array, r in zip(order, results, strict=True))
    return final[0] if len(final) == 1 else final


def _is_elementwise(definition: OpDefinition) -> bool:
    """Return whether an element of an output depends on the same element of each input alone."""
    indices = {access for accesses in definition.accesses.values() for access in accesses}
    return len(indices - {()}) <= 1 and not definition.reduction_dims
