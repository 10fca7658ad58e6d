"""Compiled models on disk, under keys of their ops: neither exported nor imported again.

The record of a model has its calling convention, as plain data, and the key of its kernel, which is
kept by itself. A model with parts that were left to PyTorch is exported again.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linalg_ext.executable import disk_cache
from linalg_ext.frameworks.requirements import makers, torch
from linalg_ext.frameworks.torch.compiled_graph import CompiledGraph, Options, Piece, Plan, Report
from linalg_ext.frameworks.torch.meta_cache import Forms, StoredForms, state_of_module
from linalg_ext.frameworks.torch.program import ModelInput, ModelTensor, Program, state_of
from linalg_ext.frameworks.torch.recording import Recording, Runner, by_memo, by_pytorch, recorded
from linalg_ext.runtime import kernel_cache
from linalg_ext.utils.logs import logger

Loaded = tuple[Program, CompiledGraph]


class StoredModel:
    """A model with its recording, and the key of its entry on disk."""

    def __init__(self, model: Any, recording: Recording, options: Options, key: str) -> None:
        """Made by `stored_model`."""
        self.model = model
        self.recording = recording
        self.key = key
        self._options = options

    def load(self) -> Loaded | None:
        """Return the program of the model and its compiled graph; None if absent or unusable."""
        entry = kernel_cache.read(self.key)
        if entry is None:
            return None
        try:
            return self._of_record(entry.record)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            logger("cache").info("the entry %s cannot be used: %s", self.key, repr(error))
            return None

    def keep(self, program: Program, graph: CompiledGraph) -> None:
        """Keep a model that was compiled whole; other models are not kept."""
        if graph.report.left or not self._is_recorded(program):
            return
        sources = [self._place_of(tensor) for tensor in program.tensors]
        (piece,) = graph.pieces
        if piece.key is None or None in sources or not all(map(_is_plain, piece.plan.results)):
            return
        record = {
            "tensors": sources,
            "inputs": [tensor.name for tensor in program.inputs],
            "written": program.written,
            "plan": [piece.plan.names, piece.plan.count, piece.plan.results],
            "kernel": piece.key,
            "nodes": graph.report.nodes,
        }
        kernel_cache.write(self.key, f"model {type(self.model).__name__}", record, {})

    def _is_recorded(self, program: Program) -> bool:
        """Return whether the exported inputs and results are those of the recording."""
        recording = self.recording
        forms = zip(
            [model_input.like for model_input in program.inputs], recording.leaves, strict=True
        )
        return (
            program.in_spec == recording.in_spec
            and program.out_spec == recording.out_spec
            and all(_form(like) == _form(leaf) for like, leaf in forms)
        )

    def _place_of(self, tensor: ModelTensor) -> tuple[str, str, int] | None:
        """Return the source of a tensor of the model, as plain data; None if it has none."""
        if state_of(self.model, tensor.name) is not None:
            return "state", tensor.name, 0
        for source, is_same in (("constant", operator.is_), ("copy", _are_equal)):
            for number, constant in enumerate(self.recording.constants):
                if is_same(constant, tensor.tensor):
                    return source, tensor.name, number
        return None

    def _of_record(self, record: Mapping[str, Any]) -> Loaded | None:
        kernel = disk_cache.find(record["kernel"])
        if kernel is None:
            return None
        names, count, results = record["plan"]
        plan = Plan(tuple(names), count, tuple((source, position) for source, position in results))
        pairs = zip(record["inputs"], self.recording.leaves, strict=True)
        program = Program(
            tensors=tuple(self._model_tensor(*source) for source in record["tensors"]),
            inputs=tuple(ModelInput(name, leaf) for name, leaf in pairs),
            written=tuple(record["written"]),
            in_spec=self.recording.in_spec,
            out_spec=self.recording.out_spec,
            ranges={},
        )
        piece = Piece(plan, kernel, self._options.threads, record["kernel"])
        report = Report(record["nodes"], record["nodes"], 1)
        return program, CompiledGraph(piece, (piece,), report)

    def _model_tensor(self, source: str, name: str, number: int) -> ModelTensor:
        if source == "state":
            own = state_of(self.model, name)
            if own is None:
                raise KeyError(name)
            return own
        tensor = self.recording.constants[number]
        return ModelTensor(name, {name: tensor.clone() if source == "copy" else tensor}, name)


def look_up(
    model: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    strict: bool,
    options: Options,
) -> tuple[Loaded | None, StoredModel | None]:
    """Load a model that is kept; returns its entry as well, if it may be kept.

    Args:
        arguments, keywords: the examples, as `distinct` returns them.
    """
    if not disk_cache.is_keeping() or _others_decompositions():
        return None, None
    forms = StoredForms(model, arguments, keywords)
    if forms.known:
        stored = stored_model(model, arguments, keywords, strict, options, by_memo(forms.known))
        if stored is not None and (loaded := stored.load()) is not None:
            return loaded, stored
    learned: Forms = {}
    stored = stored_model(model, arguments, keywords, strict, options, by_pytorch(learned))
    if stored is None:
        return None, None
    forms.keep(learned)
    return stored.load(), stored


def stored_model(
    model: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    strict: bool,
    options: Options,
    runner: Runner,
) -> StoredModel | None:
    """Return the entry of a model, recorded by a runner of its ops; None if it has no recording."""
    recording = recorded(model, arguments, keywords, runner)
    if recording is None:
        return None
    key = kernel_cache.key_of(
        "model of PyTorch",
        makers(),
        recording.listing,
        strict,
        options.is_checked,
        options.opt_level,
        options.packed,
        # PyTorch counts no writes to tensors of inference mode.
        [name for name, tensor in state_of_module(model) if tensor.is_inference()],
    )
    return None if key is None else StoredModel(model, recording, options, key)


def _others_decompositions() -> list[Callable[..., Any]]:
    """Return decompositions from outside of PyTorch, which no recording shows."""
    table = torch()._decomp.decomposition_table
    return [
        function for function in table.values() if function.__module__.partition(".")[0] != "torch"
    ]


def _form(leaf: Any) -> Any:
    """Return an input without its elements; an input of open sizes equals no other."""
    if not isinstance(leaf, torch().Tensor):
        return leaf
    return leaf.dtype, [size if isinstance(size, int) else None for size in leaf.shape]


def _are_equal(left: Any, right: Any) -> bool:
    is_alike = left.dtype == right.dtype and left.shape == right.shape
    return is_alike and bool(torch().equal(left, right))


def _is_plain(result: tuple[str, Any]) -> bool:
    """Return whether a result is plain data, as constants may not be."""
    return isinstance(result[1], bool | int | float | str | None)
