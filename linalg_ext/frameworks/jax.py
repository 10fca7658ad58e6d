"""Functions of JAX, compiled by this library. `pip install 'linalg-ext[jax]'`.

    layer = lx.from_jax(fn, x, params)      # compiled for arguments like these; trees of arrays
    y = layer(x, params)                    # arrays in, arrays out

JAX traces the function and writes it as StableHLO, which becomes linalg on tensors by upstream's
legalization and by lowerings of this library. JAX's own copy of MLIR first writes the ops that only
it lowers (its dialect CHLO, composites) as StableHLO; this file gets text, with the line of the
program in the location of every op.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from linalg_ext.errors import (
    ArgumentError,
    DTypeError,
    IRError,
    LayoutError,
    LinalgExtError,
    ModelError,
    ShapeError,
    SourceLocation,
    caller_location,
    kind_of,
    refuse_pickling,
)
from linalg_ext.executable.kernel import CompilerOptions, Kernel
from linalg_ext.frameworks.kernels import kernel_of, line_of_error, module_of
from linalg_ext.frameworks.requirements import jax
from linalg_ext.settings import Options

if TYPE_CHECKING:
    from linalg_ext.module import Module
    from linalg_ext.runtime.callbacks import Callback

_HINTS = {
    "TracerBoolConversionError": "choose by jnp.where or jax.lax.cond: values are not known yet",
    "TracerArrayConversionError": "use the functions of jax.numpy: NumPy's need the elements",
    "ConcretizationTypeError": "values are not known yet: name the argument in static_argnums",
}
"""Hints for JAX's errors of functions that read values while they are traced."""

_HINT = (
    "jax.jit(fn).lower(...) raises this error, too: mend it there; an argument that is not an "
    "array, or that shapes depend on, is named in static_argnums"
)


def from_jax(
    fn: Callable[..., Any],
    *specs: Any,
    keywords: Mapping[str, Any] | None = None,
    static_argnums: int | Sequence[int] = (),
    checked: bool | None = None,
    opt_level: int | None = None,
) -> JaxFunction:
    """Compile a function of JAX for arguments like the given ones.

        layer = lx.from_jax(fn, jax.ShapeDtypeStruct((8, 64), "float32"), params)
        y = layer(x, params)

    Args:
        fn: a function for `jax.jit`: of trees of arrays, be it a gradient or mapped over.
        specs: its arguments, or `jax.ShapeDtypeStruct` in their place: trees of them.
        keywords: its keyword arguments, the same way.
        static_argnums: the arguments that are part of the code: each call has equal ones.
        checked, opt_level: as of `linalg_ext.compile`.

    Returns:
        A function of the arguments of `fn`. Its results are arrays of JAX if an argument is one,
        else of NumPy; they are new, and no argument is donated.

    Raises:
        MissingExtraError, BindingsError: JAX is not installed, or does not fit.
        ModelError: JAX cannot trace the function, or an op of it cannot be lowered; names the op
            and the line.
    """
    package = jax()
    if not callable(fn):
        raise ArgumentError(
            f"{kind_of(fn)} is not a function", expected="a function that jax.jit takes"
        )
    statics = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    if wrong := [n for n in statics if not 0 <= n < len(specs)]:
        raise ArgumentError(
            f"static_argnums has {wrong[0]}, and there are {len(specs)} arguments",
            expected="places of arguments, from 0 on",
        )
    name = getattr(fn, "__name__", type(fn).__name__)
    arguments = [spec if n in statics else _as_specs(spec) for n, spec in enumerate(specs)]
    keyword_specs = {key: _as_specs(value) for key, value in (keywords or {}).items()}
    try:
        jitted = package.jit(fn, static_argnums=statics, keep_unused=True)
        traced = jitted.trace(*arguments, **keyword_specs)
        lowering = traced.lower(lowering_platforms=("cpu",))
    except Exception as error:
        # JAX raises errors of all kinds, the function's own among them.
        if isinstance(error, LinalgExtError):
            raise
        first = str(error).strip().partition("\n")[0]
        hint = _HINTS.get(type(error).__name__, _HINT)
        if not (specs or keywords):
            hint = "give examples of the arguments, or their shapes: lx.from_jax(fn, x, y)"
        raise ModelError(
            f"JAX cannot trace {name}: {type(error).__name__}: {first}",
            where=line_of_error(error, [package]) or caller_location(),
            hint=hint,
        ) from error
    constants = {number: specs[number] for number in statics}
    return JaxFunction(name, lowering, constants, checked, opt_level)


class JaxFunction:
    """A compiled function.

    Attributes:
        kernel: the compiled code.
    """

    def __init__(
        self,
        name: str,
        lowering: Any,
        constants: Mapping[int, Any],
        checked: bool | None,
        opt_level: int | None,
    ) -> None:
        """Made by `from_jax`."""
        tree = jax().tree_util
        self.name = name
        self._constants = constants
        self._in_tree = lowering.in_tree
        paths, _ = tree.tree_flatten_with_path(lowering.in_avals)
        self._names = [_name(tree.keystr(path)) for path, _ in paths]
        self._inputs = [value for _, value in paths]
        outputs, self._out_tree = tree.tree_flatten(lowering.out_info)
        self._refuse_keys(self._inputs, "takes")
        self._refuse_keys(outputs, "gives")
        text = stablehlo(lowering)
        callbacks: list[Callback] = []
        self.kernel: Kernel = kernel_of(
            "StableHLO of JAX",
            text,
            lambda: lowered(text, name, callbacks),
            lambda error: _refusal(name, error, error.hint),
            CompilerOptions(
                checked=Options.current().checked if checked is None else checked,
                opt_level=opt_level,
                result_dtypes=[np.dtype(output.dtype) for output in outputs],
            ),
        )
        self.kernel.callbacks = tuple(callbacks)
        self._count = len(outputs)

    @cached_property
    def module(self) -> Module:
        """Linalg on tensors, as it was compiled."""
        return module_of(self.kernel)

    def _refuse_keys(self, values: Sequence[Any], verb: str) -> None:
        dtypes = jax().dtypes
        if any(dtypes.issubdtype(value.dtype, dtypes.extended) for value in values):
            raise ModelError(
                f"{self.name} {verb} a key of jax.random, whose dtype NumPy does not have",
                hint="take and give its words: jax.random.key_data(key), "
                "jax.random.wrap_key_data(words)",
            )

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Call the function and return its results.

        Raises:
            ArgumentError: an argument differs from the one it was compiled for; names it.
            ExecutionError: the code found an error, such as an index out of bounds.
        """
        values = self._flat(arguments, keywords)
        arrays = [
            as_array(value, like, name)
            for value, like, name in zip(values, self._inputs, self._names, strict=True)
        ]
        returned = self.kernel(*arrays)
        results = [returned] if self._count == 1 else list(returned if self._count else ())
        if any(isinstance(value, jax().Array) for value in values):
            results = [as_jax(result) for result in results]
        return jax().tree_util.tree_unflatten(self._out_tree, results)

    def _flat(self, arguments: Sequence[Any], keywords: Mapping[str, Any]) -> list[Any]:
        for number, value in self._constants.items():
            if number >= len(arguments) or arguments[number] != value:
                raise ArgumentError(
                    f"argument {number} of {self.name} is static, and was {value!r}",
                    hint="give the same again, or compile again",
                )
        dynamic = [value for n, value in enumerate(arguments) if n not in self._constants]
        values, tree = jax().tree_util.tree_flatten((tuple(dynamic), dict(keywords)))
        if tree != self._in_tree:
            raise ArgumentError(
                f"the arguments of {self.name} are of another structure: {tree}",
                expected=f"{self._in_tree}, which it was compiled for",
            )
        return list(values)

    def __repr__(self) -> str:
        pairs = zip(self._names, self._inputs, strict=True)
        takes = ", ".join(f"{name}: {value.str_short()}" for name, value in pairs)
        return f"function {self.name}({takes}) of JAX\n{self.kernel!r}"

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a compiled function", "pickle the function of JAX, and compile it there")


def _as_specs(argument: Any) -> Any:
    """Return a tree with shapes and dtypes of this library's own as JAX's."""
    return jax().tree_util.tree_map(_as_spec, argument)


def _as_spec(leaf: Any) -> Any:
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype") and not hasattr(leaf, "__array__"):
        shape = tuple(leaf.shape)
        if not all(isinstance(size, int) for size in shape):
            raise ArgumentError(
                f"an argument is of shape {shape}",
                expected="sizes that are known: JAX traces a function for one shape",
            )
        return jax().ShapeDtypeStruct(shape, leaf.dtype)
    return leaf


def _name(path: str) -> str:
    """`argument 0['w']` of `[0][0]['w']`; a keyword argument by its name."""
    kind, _, rest = path.removeprefix("[").partition("]")
    if kind == "1":
        return rest.replace("['", "", 1).replace("']", "", 1)
    return "argument " + rest.replace("[", "", 1).replace("]", "", 1)


_CONFIGURATION = "mhlo.backend_config"
"""The attribute of a call of JAX's runtime that holds the numbers for the called function."""

_PIPELINE = (
    "builtin.module(func.func(stablehlo-legalize-composite-to-call),"
    "func.func(stablehlo-legalize-deprecated-ops,chlo-legalize-to-stablehlo,"
    "stablehlo-complex-math-expander))"
)
_FRAME = re.compile(r'"([^"]+)"\("([^"]+\.py)":(\d+)')
_BARE_FRAME = re.compile(r'"([^"]+\.py)":(\d+)')


def stablehlo(lowering: Any) -> str:
    """Return the result of `jax.jit(...).lower(...)` as text that upstream's StableHLO reads."""
    from jaxlib.mlir import ir, passmanager

    module = lowering.compiler_ir("stablehlo")
    with module.context:
        module = ir.Module.parse(module.operation.get_asm(enable_debug_info=True))
        passmanager.PassManager.parse(_PIPELINE).run(module.operation)
        _forget_devices(module.operation, ir.WalkResult.ADVANCE)
    text: str = module.operation.get_asm(enable_debug_info=True)
    return text


def lowered(text: str, name: str, callbacks: list[Callback]) -> Module:
    """Return StableHLO as linalg on tensors: the function `main`.

    Args:
        callbacks: gets the functions of Python that the code calls; the kernel keeps them alive.

    Raises:
        ModelError: an op of it cannot be lowered; names the op and the line of the program.
    """
    # A function from the disk cache does without MLIR, which this import loads.
    from linalg_ext.frameworks.jax_calls import write_calls
    from linalg_ext.module import Module
    from linalg_ext.transforms.legalization.legalize_exported import legalize_exported

    try:
        module = Module.parse(text, trusted=True, legalize=False, filename=name)
        callbacks += write_calls(module.ir, _CONFIGURATION)
        legalize_exported(module, trusted=True)
        return module
    except IRError as error:
        notes = [str(line).splitlines()[0][:200] for line in error.diagnostics[:1]]
        hint = error.hint or "write that line with other functions"
        raise _refusal(name, error, hint, notes) from error


def _refusal(name: str, error: IRError, hint: str | None, notes: Sequence[str] = ()) -> ModelError:
    lines = "\n".join([str(error.where), *map(str, error.diagnostics)])
    message = f"{name} cannot be compiled: {error.what}"
    return ModelError(message, where=_line_of(lines), hint=hint, notes=list(notes))


def _line_of(location: str) -> SourceLocation | None:
    """Return the line of the user's program that a location of JAX's names."""
    packages = os.path.dirname(os.path.dirname(jax().__file__)) + os.sep
    for function, file, line in _FRAME.findall(location):
        if not file.startswith((packages + "jax" + os.sep, packages + "jaxlib" + os.sep)):
            return SourceLocation(file, int(line), function.rpartition(".")[2])
    for file, line in _BARE_FRAME.findall(location):
        if not file.startswith(packages):
            return SourceLocation(file, int(line), "")
    return None


def _forget_devices(root: Any, go_on: Any) -> None:
    """Remove the attributes and meshes that place values on devices: there is one device."""
    meshes = []

    def visit(op: Any) -> Any:
        for name in map(str, list(op.attributes)):
            if name.startswith(("mhlo.", "sdy.")) and name != _CONFIGURATION:
                del op.attributes[name]
        if op.name == "sdy.mesh":
            meshes.append(op)
        return go_on

    root.walk(visit)
    for mesh in meshes:
        mesh.erase()


Array = np.ndarray[Any, Any]


def as_array(value: Any, like: Any, name: str) -> Array:
    """Return an argument of a caller as the array that the kernel takes.

    Args:
        like: the shape and the dtype that the function was compiled for.

    Raises:
        ArgumentError: the value is not an array, or has another shape or dtype.
    """
    try:
        if isinstance(value, jax().Array) and value.is_fully_addressable:
            _refuse_other_devices(value, name)
        array = np.asarray(value)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"{name} is {kind_of(value)}, no array: {error}") from error
    dtype = np.dtype(like.dtype)
    if array.dtype != dtype:
        # JAX converts numbers by their kind, and 64 bits to 32 unless 64 are enabled.
        is_number = isinstance(value, bool | int | float | complex)
        if not is_number and jax().dtypes.canonicalize_dtype(array.dtype) != dtype:
            raise DTypeError(
                f"{name} is of {array.dtype}",
                expected=f"{dtype}, which the function was compiled for",
                hint=f"convert it: {name}.astype({dtype.name!r})"
                if name.isidentifier()
                else f"convert it with .astype({dtype.name!r})",
            )
        array = array.astype(dtype)
    if array.shape != tuple(like.shape):
        raise ShapeError(
            f"{name} is of shape {array.shape}",
            expected=f"{tuple(like.shape)}, which the function was compiled for",
            hint="compile it again for this shape: lx.from_jax(fn, ...)",
        )
    return array


def as_jax(array: Any) -> Any:
    """Return an array of the kernel's as one of JAX's, in the same memory if JAX accepts it."""
    numpy_array = np.asarray(array)
    if numpy_array.dtype.isbuiltin == 1 and numpy_array.dtype != np.bool_:
        return jax().dlpack.from_dlpack(numpy_array)
    return jax().numpy.asarray(numpy_array)


def _refuse_other_devices(value: Any, name: str) -> None:
    platforms = {device.platform for device in value.devices()}
    if platforms != {"cpu"}:
        raise LayoutError(
            f"{name} is on {', '.join(sorted(platforms))}",
            expected="an array on the CPU",
            hint="bring it there: jax.device_put(x, jax.devices('cpu')[0])",
        )
