"""`lx.from_torch`: a model of PyTorch as compiled code, called on tensors."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from linalg_ext.errors import (
    ArgumentError,
    ArgumentTypeError,
    caller_location,
    kind_of,
    refuse_pickling,
)
from linalg_ext.executable.kernel import Kernel
from linalg_ext.frameworks.requirements import torch, torch_importer
from linalg_ext.frameworks.torch.compiled_graph import CompiledGraph, Options, Report
from linalg_ext.frameworks.torch.parameters import Bound
from linalg_ext.frameworks.torch.program import Program
from linalg_ext.frameworks.torch.stored_models import look_up

if TYPE_CHECKING:
    from linalg_ext.module import Module


def from_torch(
    model: Any,
    example_inputs: Any = (),
    example_keywords: Mapping[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    allow_fallback: bool = True,
    strict: bool = False,
    checked: bool | None = None,
    opt_level: int | None = None,
    packed: bool | Literal["unwatched"] = True,
) -> TorchModel:
    """Compile a model of PyTorch for inputs like the given ones.

        net = lx.from_torch(model.eval(), (torch.randn(8, 3, 224, 224),))
        y = net(x)

        batch = torch.export.Dim("batch", max=64)
        net = lx.from_torch(model.eval(), (x,), dynamic_shapes=({0: batch},))

    It is for inference: no gradient flows through it. A model in training mode updates its buffers
    as it does in PyTorch, and PyTorch draws its random numbers, in the same order: dropouts are the
    same after `torch.manual_seed`. A tensor that it assigns to an attribute becomes a buffer of it,
    which `state_dict()` leaves out. To train, use `torch.compile(model, backend="linalg_ext")`.

    Args:
        model: a module, a function of tensors, or the result of `torch.export.export`.
        example_inputs: the arguments of a call, as a tuple; or a single tensor.
        example_keywords: its keyword arguments.
        dynamic_shapes: the open dimensions, as of `torch.export.export`; all others are those of
            the examples. Values other than tensors become part of the code.
        allow_fallback: have PyTorch run ops that cannot be compiled. The kernel calls them, where
            the forms of their results are known; else the graph is cut around them. `.report` lists
            both. With False the first of them is an error.
        strict: trace Python's bytecode (TorchDynamo), as of `torch.export.export`.
        checked, opt_level: as of `linalg_ext.compile`.
        packed: keep weights of products in the kernel's order, too, which doubles their memory and
            is faster. Filters of 3 x 3 have the factors of Winograd's algorithm behind them, up to
            twice their memory more. Each call asks the operating system whether such weights were
            written, or reads them if the system cannot tell (Linux before 6.7). With `"unwatched"`
            it relies on PyTorch's count instead: writes through `tensor.data` or an array in its
            memory then need a `.refresh()`. The kernel itself, `.kernels[0]`, takes them packed.

    Returns:
        A function of the model's arguments: tensors on the CPU. Its results are new, except for
        tensors that the model itself returns.

    Raises:
        MissingExtraError, BindingsError: PyTorch, or torch-mlir, is not installed or does not fit.
        ArgumentError: the model, an example, or the value of an option is of the wrong kind.
        ModelError: PyTorch cannot trace the model; or an op of it cannot be compiled, and
            `allow_fallback` is False.
    """
    torch()
    options = Options(allow_fallback, checked, opt_level, packed=packed)
    if isinstance(example_inputs, torch().Tensor):
        example_inputs = (example_inputs,)
    if not isinstance(example_inputs, tuple | list):
        raise ArgumentError(
            f"example_inputs is {kind_of(example_inputs)}",
            expected="a tuple with the arguments of a call: (x,)",
        )
    if not isinstance(example_keywords, Mapping | None):
        raise ArgumentError(
            f"example_keywords is {kind_of(example_keywords)}",
            expected='a dict of the keyword arguments of a call: {"mask": m}',
        )
    is_program = isinstance(model, torch().export.ExportedProgram)
    is_class = isinstance(model, type)
    if is_class or not (is_program or callable(model)):
        raise ArgumentError(
            f"the class {model.__name__} is not a model"
            if is_class
            else f"{kind_of(model)} is not a model",
            expected="a torch.nn.Module, a function of tensors, or an ExportedProgram",
            hint=f"make one: {model.__name__}(...)" if is_class else None,
        )
    if is_program and (example_inputs or example_keywords or dynamic_shapes):
        raise ArgumentError(
            "example inputs beside an ExportedProgram, which has its own",
            hint="leave example_inputs, example_keywords and dynamic_shapes out",
        )
    _check_examples([*example_inputs, *(example_keywords or {}).values()])
    if is_program:
        return TorchModel(*_compiled(model, (), {}, None, strict, options), options)
    module = as_module(model)
    examples = distinct(module, example_inputs, example_keywords or {})
    if dynamic_shapes:
        # A recording of ops has no open sizes.
        return TorchModel(*_compiled(module, *examples, dynamic_shapes, strict, options), options)
    return TorchModel(*_stored_or_compiled(module, *examples, strict, options), options)


def _stored_or_compiled(
    model: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    strict: bool,
    options: Options,
) -> tuple[Program, CompiledGraph]:
    """Load or compile a model whose sizes are those of its examples."""
    stored_result, stored = look_up(model, arguments, keywords, strict, options)
    if stored_result is not None:
        return stored_result
    program, graph = _compiled(model, arguments, keywords, None, strict, options)
    if stored is not None:
        stored.keep(program, graph)
    return program, graph


def _compiled(
    model: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    dynamic_shapes: Any,
    strict: bool,
    options: Options,
) -> tuple[Program, CompiledGraph]:
    torch_importer()
    # A model from the disk does without MLIR and much of PyTorch, which these imports load.
    from linalg_ext.frameworks.torch.compiling import compile_graph
    from linalg_ext.frameworks.torch.exporting import exported

    graph_module, program = exported(model, arguments, keywords, dynamic_shapes, strict)
    return program, compile_graph(graph_module, options)


def _check_examples(examples: Sequence[Any]) -> None:
    for position, example in enumerate(torch().utils._pytree.tree_leaves(examples)):
        if isinstance(example, np.ndarray):
            raise ArgumentTypeError(
                f"example input {position} is an array of NumPy's",
                where=caller_location(),
                expected="tensors of PyTorch",
                hint="torch.from_numpy(array) is a tensor in its memory",
            )


class TorchModel:
    """A compiled model.

    Attributes:
        report: the ops that were compiled, and those that PyTorch runs.
    """

    def __init__(self, program: Program, graph: CompiledGraph, options: Options) -> None:
        """Made by `from_torch`."""
        self.report: Report = graph.report
        self._program = program
        self._graph = graph
        shapes = graph.shapes or [None] * len(program.tensors)
        self._calls_torch = bool(program.written) or graph.run not in graph.pieces
        is_watched = options.packed != "unwatched"
        self._state = [
            Bound(tensor, shape, is_watched=is_watched)
            for tensor, shape in zip(program.tensors, shapes, strict=False)
        ]

    @property
    def state(self) -> Mapping[str, Any]:
        """The tensors of the model, by their names; writes to them change both."""
        return {bound.model_tensor.name: bound.model_tensor.tensor for bound in self._state}

    def refresh(self) -> None:
        """Read all of the model's tensors again at the next call.

        Needed with `packed="unwatched"` alone, after writing through `tensor.data` or an array in a
        tensor's memory, which PyTorch does not count.
        """
        for bound in self._state:
            bound.refresh()

    @property
    def kernels(self) -> Sequence[Kernel]:
        """Its kernels, in the order in which they run: one, unless the graph was cut."""
        return tuple(piece.kernel for piece in self._graph.pieces if piece.kernel is not None)

    @property
    def modules(self) -> Sequence[Module]:
        """Return the modules that the kernels were compiled from: linalg on tensors."""
        return tuple(piece.module for piece in self._graph.pieces if piece.module is not None)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """Run the model and return its results.

        Raises:
            ArgumentError: an argument differs from those that it was compiled for.
            ExecutionError: the code found an error, such as an index out of bounds.
        """
        values = self._program.flat(arguments, keywords)
        state = [bound.array() for bound in self._state]
        if not self._calls_torch:
            results = self._graph.run(*state, *values)
        else:
            with torch().no_grad():
                results = self._graph.run(*state, *values)
                for position, value in zip(self._program.written, results, strict=False):
                    self._tensor_at(position, values).copy_(value)
            results = results[len(self._program.written) :]
        if any(type(result) is np.ndarray for result in results):
            # The result is a tensor of the model's.
            own = {id(array): bound for array, bound in zip(state, self._state, strict=True)}
            results = [own[id(r)].model_tensor.tensor if id(r) in own else r for r in results]
        return torch().utils._pytree.tree_unflatten(results, self._program.out_spec)

    def _tensor_at(self, position: int, values: Sequence[Any]) -> Any:
        if position < len(self._state):
            return self._state[position].model_tensor.tensor
        return values[position - len(self._state)]

    def __repr__(self) -> str:
        takes = ", ".join(
            f"{i.name}: {_text(i.like) if i.is_tensor else repr(i.like)}"
            for i in self._program.inputs
        )
        return f"model ({takes}) with {len(self._state)} tensors of its own\n{self.report}"

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a compiled model", "pickle the model of PyTorch, and compile it there")


def _text(tensor: Any) -> str:
    shape = ", ".join(map(str, tensor.shape))
    return f"{str(tensor.dtype).removeprefix('torch.')}[{shape}]"


def as_module(model: Any) -> Any:
    """Return a model as it is; a function as a module with the same parameters."""
    if isinstance(model, torch().nn.Module):
        return model
    module = torch().nn.Module()
    try:
        inspect.signature(model)
        module.forward = _as_forward(model)
    except ValueError:
        # A function of C may have no signature.
        module.forward = lambda *arguments: model(*arguments)
    return module


def distinct(
    model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Return examples of which none is given twice, or a tensor of the model.

    torch.export takes inputs for one if their examples are the same tensor.
    """
    own_tensors = {id(tensor) for tensor in (*model.parameters(), *model.buffers())}

    def as_new(tensor: Any) -> Any:
        if id(tensor) in own_tensors:
            return tensor.detach().clone()
        own_tensors.add(id(tensor))
        return tensor

    pytree = torch().utils._pytree
    examples: tuple[Sequence[Any], Mapping[str, Any]] = pytree.tree_map_only(
        torch().Tensor, as_new, (tuple(arguments), dict(keywords))
    )
    return examples


def _as_forward(function: Any) -> Any:
    """Return a function whose frames are called `forward`: the exporter reports lines of these."""
    if not isinstance(function, types.FunctionType):
        return function
    code = function.__code__.replace(co_name="forward")
    twin = types.FunctionType(
        code, function.__globals__, "forward", function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(twin, function)
