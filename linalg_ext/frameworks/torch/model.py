"""`lx.from_torch`: a model of PyTorch as compiled code, called on tensors."""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numpy as np

from linalg_ext.errors import ArgumentError, ArgumentTypeError, caller_location, refuse_pickling
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
    allow_fallback: bool = False,
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
    as it does in PyTorch. To train, use `torch.compile(model, backend="linalg_ext")`.

    Args:
        model: a module, a function of tensors, or what `torch.export.export` made of one.
        example_inputs: the arguments of a call, as a tuple; a single tensor may stand for itself.
        example_keywords: its keyword arguments.
        dynamic_shapes: which dimensions are open, as of `torch.export.export`; all others are
            those of the examples. So is what is no tensor: it becomes part of the code.
        allow_fallback: leave ops that do not come through to PyTorch, with the graph cut around
            them; `.report` says which. By default the first of them is an error.
        strict: trace Python's bytecode (TorchDynamo), as of `torch.export.export`.
        checked, opt_level: as of `linalg_ext.compile`.
        packed: keep weights of products in the order in which the kernel reads them, too: it takes
            their memory once more, and is faster. Filters of 3 x 3 have what Winograd's algorithm
            makes of them behind, up to twice their memory more. Each call asks the operating
            system whether such weights were written; where that cannot tell (Linux before 6.7),
            it reads them once more. With `"unwatched"` it believes PyTorch's count there: what you
            write through `tensor.data` or an array in its memory then needs a `.refresh()`. The
            kernel itself, `.kernels[0]`, takes them so.

    Returns:
        A function of what the model takes: tensors on the CPU. What it gives is new, but for what
        the model gives back as it got it.

    Raises:
        MissingExtraError, BindingsError: PyTorch, or torch-mlir, is not there or does not fit.
        ArgumentError: something is no model, no example, or none of an option's values.
        ModelError: PyTorch cannot trace the model, or an op of it does not come through.
    """
    torch()
    options = Options(allow_fallback, checked, opt_level, packed=packed)
    if isinstance(example_inputs, torch().Tensor):
        example_inputs = (example_inputs,)
    if not isinstance(example_inputs, tuple | list):
        raise ArgumentError(
            f"example_inputs is a {type(example_inputs).__name__}",
            expected="a tuple with the arguments of a call: (x,)",
        )
    if not isinstance(example_keywords, Mapping | None):
        raise ArgumentError(
            f"example_keywords is a {type(example_keywords).__name__}",
            expected='a dict of the keyword arguments of a call: {"mask": m}',
        )
    is_program = isinstance(model, torch().export.ExportedProgram)
    is_class = isinstance(model, type)
    if is_class or not (is_program or callable(model)):
        raise ArgumentError(
            f"the class {model.__name__} is no model"
            if is_class
            else f"a {type(model).__name__} is no model",
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
        # A list of ops says nothing of sizes that are open.
        return TorchModel(*_compiled(module, *examples, dynamic_shapes, strict, options), options)
    return TorchModel(*_found_or_compiled(module, *examples, strict, options), options)


def _found_or_compiled(
    model: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    strict: bool,
    options: Options,
) -> tuple[Program, CompiledGraph]:
    """A model whose sizes are those of its examples; from the disk where it is kept."""
    found, place = look_up(model, arguments, keywords, strict, options)
    if found is not None:
        return found
    program, graph = _compiled(model, arguments, keywords, None, strict, options)
    if place is not None:
        place.keep(program, graph)
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
    # Only here what loads MLIR, and much of PyTorch: a model that is kept does without.
    from linalg_ext.frameworks.torch.compiling import compile_graph
    from linalg_ext.frameworks.torch.exporting import exported

    graph_module, program = exported(model, arguments, keywords, dynamic_shapes, strict)
    return program, compile_graph(graph_module, options)


def _check_examples(examples: Sequence[Any]) -> None:
    for at, each in enumerate(torch().utils._pytree.tree_leaves(examples)):
        if isinstance(each, np.ndarray):
            raise ArgumentTypeError(
                f"example input {at} is an array of NumPy's",
                where=caller_location(),
                expected="tensors of PyTorch",
                hint="torch.from_numpy(array) is a tensor in its memory",
            )


class TorchModel:
    """A compiled model.

    Attributes:
        report: what was compiled of it, and what was left to PyTorch.
    """

    def __init__(self, program: Program, graph: CompiledGraph, options: Options) -> None:
        """Made by `from_torch`."""
        self.report: Report = graph.report
        self._program = program
        self._graph = graph
        shapes = graph.shapes or [None] * len(program.held)
        self._calls_torch = bool(program.written) or graph.run not in graph.pieces
        is_watched = options.packed != "unwatched"
        self._state = [
            Bound(*each, is_watched=is_watched) for each in zip(program.held, shapes, strict=False)
        ]

    @property
    def state(self) -> Mapping[str, Any]:
        """The tensors that the model holds, by their names; to write to them changes both."""
        return {bound.held.name: bound.held.tensor for bound in self._state}

    def refresh(self) -> None:
        """Read all of the model's tensors again at the next call.

        Needed with `packed="unwatched"` alone, after writing through `tensor.data` or an array in a
        tensor's memory, which PyTorch does not count.
        """
        for bound in self._state:
            bound.refresh()

    @property
    def kernels(self) -> Sequence[Kernel]:
        """Its kernels, in the order in which they run: one, where nothing was left to PyTorch."""
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
        given = self._program.flat(arguments, keywords)
        state = [bound.array() for bound in self._state]
        if not self._calls_torch:
            results = self._graph.run(*state, *given)
        else:
            with torch().no_grad():
                results = self._graph.run(*state, *given)
                for place, value in zip(self._program.written, results, strict=False):
                    self._place(place, given).copy_(value)
            results = results[len(self._program.written) :]
        if any(type(result) is np.ndarray for result in results):
            # A tensor of the model's that it gives as it is.
            own = {id(array): bound for array, bound in zip(state, self._state, strict=True)}
            results = [own[id(r)].held.tensor if id(r) in own else r for r in results]
        return torch().utils._pytree.tree_unflatten(results, self._program.out_spec)

    def _place(self, place: int, given: Sequence[Any]) -> Any:
        if place < len(self._state):
            return self._state[place].held.tensor
        return given[place - len(self._state)]

    def __repr__(self) -> str:
        takes = ", ".join(
            f"{each.name}: {_text(each.like) if each.is_tensor else repr(each.like)}"
            for each in self._program.inputs
        )
        return f"model ({takes}) with {len(self._state)} tensors of its own\n{self.report}"

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a compiled model", "pickle the model of PyTorch, and compile it there")


def _text(tensor: Any) -> str:
    shape = ", ".join(map(str, tensor.shape))
    return f"{str(tensor.dtype).removeprefix('torch.')}[{shape}]"


def as_module(model: Any) -> Any:
    """Return a model as it is; a function as a module that takes the same, by the same names."""
    if isinstance(model, torch().nn.Module):
        return model
    module = torch().nn.Module()
    try:
        inspect.signature(model)
        module.forward = _as_forward(model)
    except ValueError:
        # A function of C's may have none to tell names by.
        module.forward = lambda *arguments: model(*arguments)
    return module


def distinct(
    model: Any, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Examples of which none is given twice, nor held by the model.

    torch.export takes inputs for one where their examples are the same tensor.
    """
    known = {id(each) for each in (*model.parameters(), *model.buffers())}

    def as_new(tensor: Any) -> Any:
        if id(tensor) in known:
            return tensor.detach().clone()
        known.add(id(tensor))
        return tensor

    pytree = torch().utils._pytree
    found: tuple[Sequence[Any], Mapping[str, Any]] = pytree.tree_map_only(
        torch().Tensor, as_new, (tuple(arguments), dict(keywords))
    )
    return found


def _as_forward(function: Any) -> Any:
    """A function whose frames are called `forward`: the exporter tells lines of no others."""
    if not isinstance(function, types.FunctionType):
        return function
    code = function.__code__.replace(co_name="forward")
    twin = types.FunctionType(
        code, function.__globals__, "forward", function.__defaults__, function.__closure__
    )
    twin.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(twin, function)
