"""The loops of a kernel as they are before they become branches: a tree, or boxes in boxes.

>>> lx.explain.loop_nests(kernel)
@softmax
  for 0 to 64: vector.broadcast 2
    for 0 to 128 by 32: vector.load, arith.maximumf
    for 0 to 128 by 16: vector.load, arith.subf, math.exp, arith.addf, vector.store
    for 0 to 128 by 32: vector.load, arith.divf, vector.store
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentTypeError
from linalg_ext.executable.explanation import Stage
from linalg_ext.executable.kernel import Kernel
from linalg_ext.explain.located_text import module_of
from linalg_ext.explain.pieces import styled
from linalg_ext.module import Module, ModuleLike
from linalg_ext.transforms.ir_utils.walking import name_of, ops_of

if TYPE_CHECKING:
    from rich.console import RenderableType


STAGE = "loops"
"""The stage that has them."""

_LOOPS = ("scf.", "affine.")
_MOST_NAMES = 6


@dataclass(frozen=True)
class Nest:
    """A loop, or a branch, and its body.

    Attributes:
        head: its kind and its ranges, `for 0 to 64 by 8`.
        work: the ops in it by name, but for those that compute indices and those of inner nests.
        inner: the nests in it, in order.
        ops: all ops of the nest.
    """

    head: str
    work: Mapping[str, int]
    inner: tuple[Nest, ...]
    ops: int

    @property
    def summary(self) -> str:
        """Return the work in a line."""
        names = [f"{name} {n}" if n > 1 else name for name, n in self.work.items()]
        more = [f"{len(names) - _MOST_NAMES} more"] if len(names) > _MOST_NAMES else []
        return ", ".join(names[:_MOST_NAMES] + more)


@dataclass(frozen=True, repr=False)
class LoopNests:
    """The nests of each function of a module; as text they are a tree.

    Attributes:
        functions: a nest for each, its name as the head.
    """

    functions: tuple[Nest, ...] = ()

    def __repr__(self) -> str:
        return "\n".join(line for nest in self.functions for line in _lines(nest, 0))

    def __rich__(self) -> RenderableType:
        from rich.console import Group
        from rich.markup import escape as plain
        from rich.tree import Tree

        def grown(nest: Nest, parent: Tree | None) -> Tree:
            label = f"[bold]{plain(nest.head)}[/]  [dim]{plain(nest.summary)}[/]"
            tree = Tree(label) if parent is None else parent.add(label)
            for inner in nest.inner:
                grown(inner, tree)
            return tree

        return Group(*(grown(nest, None) for nest in self.functions))

    def to_html(self) -> str:
        """Return boxes in boxes, without their style."""
        return f'<div class="nests">{"".join(map(_box, self.functions))}</div>'

    def _repr_html_(self) -> str:
        return styled(self.to_html())


def loop_nests(source: Any) -> LoopNests:
    """Return the loop nests of a kernel, or of a module.

    Args:
        source: a `Kernel`, or an object with one (`lx.jit(f).lower(...).compile()`), of which the
            stage `loops` is read; or a module, as it is.

    Raises:
        ArgumentTypeError: it is neither.
    """
    if isinstance(source, Module | ir.Module | str):
        return _of_module(source)
    return nests_of_stages(kernel_of(source).steps)


def nests_of_stages(stages: Sequence[Stage]) -> LoopNests:
    """Return the nests at the stage that has loops; none if the stage was not kept."""
    stage = next((stage for stage in stages if stage.name == STAGE and stage.bytecode), None)
    if stage is None:
        return LoopNests()
    return _of_module(module_of(stage))


def _of_module(module: ModuleLike) -> LoopNests:
    nests = []
    owner = Module.of(module)  # of the ops, which end with it
    for function in ops_of(owner.ir.body):
        if "sym_name" in function.attributes and len(function.regions):
            nest = _nest(function, f"@{name_of(function)}", ir.AsmState(function))
            if nest.inner or nest.work:
                nests.append(nest)
    return LoopNests(tuple(nests))


def _nest(op: Any, head: str, names: ir.AsmState) -> Nest:
    """Return a nest; `names` are of all its values, because naming one walks over all of them."""
    work: Counter[str] = Counter()
    inner: list[Nest] = []
    ops = 0
    blocks = (block for region in op.regions for block in region.blocks)
    for inner_op in chain.from_iterable(map(ops_of, blocks)):
        ops += 1
        if inner_op.name.startswith(_LOOPS) and len(inner_op.regions):
            nest = _nest(inner_op, _head(inner_op, names), names)
            ops += nest.ops
            if nest.inner or nest.work:
                inner.append(nest)
        elif not _is_about_indices(inner_op):
            work[inner_op.name.removeprefix("func.")] += 1
    return Nest(head, dict(work), tuple(inner), ops)


_SILENT = (
    *(".yield", ".return", ".constant", ".condition", ".reinterpret_cast", ".cast", ".dim"),
    "scf.reduce",
)


def _is_about_indices(op: Any) -> bool:
    if op.name.endswith(_SILENT):
        return True
    results = [str(result.type) for result in op.results]
    return op.name.startswith(("arith.", "affine.", "index.")) and set(results) <= {"index", "i1"}


def _head(op: Any, names: ir.AsmState) -> str:
    """Return `for 0 to 64 by 8` for a loop, `if` for a branch."""
    kind = op.name.partition(".")[2]
    if op.name == "scf.for":
        low, high, step, *_ = op.operands
        return f"for {_range(low, high, step, names)}"
    if op.name == "scf.parallel":
        third = (len(op.operands) - (len(op.results))) // 3
        bounds = op.operands[: 3 * third]
        triples = zip(bounds[:third], bounds[third : 2 * third], bounds[2 * third :], strict=True)
        return "parallel " + ", ".join(_range(*triple, names) for triple in triples)
    return str(kind)


def _range(low: Any, high: Any, step: Any, names: ir.AsmState) -> str:
    by = _number(step, names)
    return f"{_number(low, names)} to {_number(high, names)}" + (f" by {by}" if by != "1" else "")


def _number(value: Any, names: ir.AsmState) -> str:
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.name == "arith.constant":
        return str(owner.attributes["value"]).partition(" ")[0]
    return str(value.get_name(names))


def _lines(nest: Nest, depth: int) -> Iterator[str]:
    yield "  " * depth + (f"{nest.head}: {nest.summary}" if nest.summary else nest.head)
    for inner in nest.inner:
        yield from _lines(inner, depth + 1)


def _box(nest: Nest) -> str:
    work = f'<span class="work">{escape(nest.summary)}</span>' if nest.summary else ""
    inner = "".join(map(_box, nest.inner))
    return f'<div class="nest"><b>{escape(nest.head)}</b> {work}{inner}</div>'


def kernel_of(holder: Any) -> Kernel:
    """Return a kernel, or that of its holder, such as `lx.jit(f).lower(...).compile()`.

    Raises:
        ArgumentTypeError: the object has none, or it is in a worker process.
    """
    own = holder if isinstance(holder, Kernel) else getattr(holder, "kernel", None)
    if isinstance(own, Kernel):
        return own
    raise ArgumentTypeError(
        f"{type(holder).__name__} is not a kernel of this process",
        expected="the result of lx.compile(module) or lx.jit(f).lower(...).compile(); of a "
        "model of "
        "PyTorch one of its .kernels",
    )
