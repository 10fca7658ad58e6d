"""Models that were compiled once: found by what they compute, neither exported nor imported again.

What is kept of a model is how it is called, as plain data, and the key of its kernel, which is kept
by itself. A model of which a part was left to PyTorch is exported again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from linalg_ext.executable import disk_cache
from linalg_ext.frameworks.requirements import makers, torch
from linalg_ext.frameworks.torch.compiled_graph import CompiledGraph, Options, Piece, Plan, Report
from linalg_ext.frameworks.torch.meta_cache import Forms, StoredForms, state_of_module
from linalg_ext.frameworks.torch.program import Expected, Held, Program, state_of
from linalg_ext.frameworks.torch.recording import Recording, Runner, by_memo, by_pytorch, recorded
from linalg_ext.runtime import kernel_cache
from linalg_ext.utils.logs import logger

Found = tuple[Program, CompiledGraph]


class StoredModel:
    """A model by what it computes, and the place on disk where it may be kept.

    Attributes:
        model: a module.
        recording: what it computes.
        key: of the place.
    """

    def __init__(self, model: Any, recording: Recording, options: Options, key: str) -> None:
        """Made by `stored_model`."""
        self.model = model
        self.recording = recording
        self.key = key
        self._options = options

    def found(self) -> Found | None:
        """Return the program of the model and its compiled graph.

        None where it is not kept, or its record cannot be used.
        """
        entry = kernel_cache.read(self.key)
        if entry is None:
            return None
        try:
            return self._of_record(entry.record)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            logger("cache").info("the entry %s cannot be used: %s", self.key, repr(error))
            return None

    def keep(self, program: Program, graph: CompiledGraph) -> None:
        """Keep a model that was compiled whole; another one is left."""
        if graph.report.left or not self._is_recorded(program):
            return
        held = [self._place_of(each) for each in program.held]
        (piece,) = graph.pieces
        if piece.key is None or None in held or not all(map(_is_plain, piece.plan.results)):
            return
        record = {
            "held": held,
            "inputs": [each.name for each in program.inputs],
            "written": program.written,
            "plan": [piece.plan.names, piece.plan.count, piece.plan.results],
            "kernel": piece.key,
            "nodes": graph.report.nodes,
        }
        kernel_cache.write(self.key, f"model {type(self.model).__name__}", record, {})

    def _is_recorded(self, program: Program) -> bool:
        """Return whether the exporter saw the inputs and results that were recorded."""
        recording = self.recording
        forms = zip([each.like for each in program.inputs], recording.leaves, strict=True)
        return (
            program.in_spec == recording.in_spec
            and program.out_spec == recording.out_spec
            and all(_form(like) == _form(leaf) for like, leaf in forms)
        )

    def _place_of(self, held: Held) -> tuple[str, str, int] | None:
        """Return the place where a tensor of the model is found again; None if absent."""
        if state_of(self.model, held.name) is not None:
            return "state", held.name, 0
        for number, each in enumerate(self.recording.constants):
            if each is held.tensor:
                return "constant", held.name, number
        for number, each in enumerate(self.recording.constants):
            if _are_equal(each, held.tensor):
                return "copy", held.name, number
        return None

    def _of_record(self, record: Mapping[str, Any]) -> Found | None:
        kernel = disk_cache.find(record["kernel"])
        if kernel is None:
            return None
        names, count, results = record["plan"]
        plan = Plan(tuple(names), count, tuple((source, what) for source, what in results))
        pairs = zip(record["inputs"], self.recording.leaves, strict=True)
        program = Program(
            held=tuple(self._held(*place) for place in record["held"]),
            inputs=tuple(Expected(name, leaf) for name, leaf in pairs),
            written=tuple(record["written"]),
            in_spec=self.recording.in_spec,
            out_spec=self.recording.out_spec,
            ranges={},
        )
        piece = Piece(plan, kernel, self._options.threads, record["kernel"])
        report = Report(record["nodes"], record["nodes"], 1)
        return program, CompiledGraph(piece, (piece,), report)

    def _held(self, source: str, name: str, number: int) -> Held:
        if source == "state":
            found = state_of(self.model, name)
            if found is None:
                raise KeyError(name)
            return found
        tensor = self.recording.constants[number]
        return Held(name, {name: tensor.clone() if source == "copy" else tensor}, name)


def look_up(
    model: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    strict: bool,
    options: Options,
) -> tuple[Found | None, StoredModel | None]:
    """Return a model that is kept; and where it is to be kept, if it may be.

    Args:
        model: a module.
        arguments, keywords: the examples, as `distinct` gives them.
        strict: as of `from_torch`.
        options: how it is compiled.
    """
    if not disk_cache.is_keeping() or _others_decompositions():
        return None, None
    forms = StoredForms(model, arguments, keywords)
    if forms.known:
        place = stored_model(model, arguments, keywords, strict, options, by_memo(forms.known))
        if place is not None and (found := place.found()) is not None:
            return found, place
    learned: Forms = {}
    place = stored_model(model, arguments, keywords, strict, options, by_pytorch(learned))
    if place is None:
        return None, None
    forms.keep(learned)
    return place.found(), place


def stored_model(
    model: Any,
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
    strict: bool,
    options: Options,
    runner: Runner,
) -> StoredModel | None:
    """A model as it is looked for; None where its ops do not tell all of it.

    Args:
        model, arguments, keywords, strict, options: as of `look_up`.
        runner: what its ops are run by, to be told.
    """
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
        # They have no versions that would tell when to pack them again.
        [name for name, each in state_of_module(model) if each.is_inference()],
    )
    return None if key is None else StoredModel(model, recording, options, key)


def _others_decompositions() -> list[Callable[..., Any]]:
    """Return the decompositions that others than PyTorch registered: no list of ops shows them."""
    table = torch()._decomp.decomposition_table
    return [each for each in table.values() if each.__module__.partition(".")[0] != "torch"]


def _form(leaf: Any) -> Any:
    """Return an input, but for its elements; one whose sizes are open equals no other."""
    if not isinstance(leaf, torch().Tensor):
        return leaf
    return leaf.dtype, [size if isinstance(size, int) else None for size in leaf.shape]


def _are_equal(one: Any, other: Any) -> bool:
    is_alike = one.dtype == other.dtype and one.shape == other.shape
    return is_alike and bool(torch().equal(one, other))


def _is_plain(result: tuple[str, Any]) -> bool:
    """Return whether a result, where it is a constant, can be written down."""
    return isinstance(result[1], bool | int | float | str | None)
