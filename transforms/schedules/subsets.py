"""Steps to loops over subsets, and from these to slices and scf loops."""

from __future__ import annotations

from linalg_ext.bindings import ir
from linalg_ext.dialects.gml_st.rules import REDUCTION, Rule, Unserved, rule_of
from linalg_ext.errors import ArgumentError, ScheduleError
from linalg_ext.rewriting import Report
from linalg_ext.transforms.gml_st.cleanup import tidy
from linalg_ext.transforms.gml_st.fuse_into_subset_loops import fuse_all
from linalg_ext.transforms.gml_st.lower_subset_loops import lower_subset_loops
from linalg_ext.transforms.gml_st.op_tiling import FORMS, Choice, Cut, tile_op
from linalg_ext.transforms.gml_st.producer_fusion import Fusion
from linalg_ext.transforms.ir_utils.walking import place

from ._checks import DYNAMIC, Loops, check_choice, check_sizes, check_tensors, refusal
from .step import schedule_step


@schedule_step("linalg-ext-tile-subsets")
def tile_subsets(
    op: ir.Operation,
    *,
    sizes: tuple[int, ...],
    form: str = "parallel",
    fuse: bool = True,
    producers: tuple[str, ...] = (),
) -> list[ir.Operation]:
    """Put an op into a `gml_st` loop over parts of its result.

    before:
        %e = linalg.exp ins(%a : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
        %r = linalg.abs ins(%e : tensor<8xf32>) outs(%c : tensor<8xf32>) -> tensor<8xf32>
    after `match("abs").tile_subsets([4]).simplify()`:
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %c8 = arith.constant 8 : index
        %r = gml_st.parallel (%i) = (%c0) to (%c8) step (%c4) {
          %in = gml_st.tile %a [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
          %x = gml_st.materialize %a[%in] : tensor<8xf32>[!gml_st.subset<4xf32>] to tensor<4xf32>
          %part = gml_st.tile %c [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
          %y = gml_st.materialize %c[%part] : tensor<8xf32>[!gml_st.subset<4xf32>] to tensor<4xf32>
          %e = linalg.exp ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
          %n = linalg.abs ins(%e : tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
          gml_st.set_yield %n into %c[%part]
            : tensor<4xf32> into tensor<8xf32>[!gml_st.subset<4xf32>]
        } : tensor<8xf32>

    Source: the document "Google ML Structured Dialect"; docs/gml_st.md. On whole modules:
    `tile_and_fuse`. The parts of its operands that an op needs are known exactly, so that windows,
    reversals, gathers and ops of `linalg_ext` are tiled and fused, too. `lower_subsets` makes
    slices and scf loops of it.

    Args:
        op: a structured op, or another whose parts are known, such as `linalg_ext.sort`.
        sizes: of a part along each dimension, 0 where it is not cut: those of the iteration space
            of a structured op, those of the result of any other.
        form: "parallel" (one nest of parallel loops, and one of reductions in it), "for" or "loop".
        fuse: compute the producers of the op part by part inside the loop, where that pays.
        producers: names of the ops that are fused, or labels (`linalg_ext.label`); left out, all
            that are worth it.

    Raises:
        ScheduleError: the sizes do not fit the op, or no rule tells its parts.
    """
    check_choice(op, "form", form, FORMS)
    where = place(op)
    try:
        rule = rule_of(op)
        check_tensors(op, "tile_subsets")
        check_sizes(op, "sizes", sizes, _domain(rule))
        tiled = tile_op(op, Cut(sizes, form))
    except Unserved as error:
        raise refusal(op, f"tile_subsets cannot cut this op: {error.reason}") from None
    if fuse:
        report, choice = Report("linalg-ext-tile-subsets"), Choice(producers)
        fusion = Fusion(tiled.loops[0], choice, report)
        try:
            fusion.run()
            fuse_all(fusion.loop, choice, report)
        except ArgumentError as error:
            raise ScheduleError(
                f"tile_subsets cannot fuse the producers of this op: {error.what}",
                where=where,
                hint="simplify() drops loops that never run; or say fuse=False",
            ) from None
    return [] if tiled.inner is None else [tiled.inner]


def _domain(rule: Rule) -> Loops:
    sizes = [size if isinstance(size, int) else DYNAMIC for size in rule.domain.sizes]
    kinds = enumerate(rule.domain.iterators)
    return Loops(tuple(sizes), tuple(dim for dim, kind in kinds if kind == REDUCTION))


@schedule_step("linalg-ext-lower-subsets", whole=True)
def lower_subsets(module: ir.Operation) -> list[ir.Operation]:
    """Put `scf.forall`, `scf.for` and slices in the place of all of `gml_st`.

    before:
        %c0 = arith.constant 0 : index
        %c4 = arith.constant 4 : index
        %c8 = arith.constant 8 : index
        %r = gml_st.parallel (%i) = (%c0) to (%c8) step (%c4) {
          %in = gml_st.tile %a [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
          %x = gml_st.materialize %a[%in] : tensor<8xf32>[!gml_st.subset<4xf32>] to tensor<4xf32>
          %part = gml_st.tile %c [%i] [4] [1] : tensor<8xf32> to !gml_st.subset<4xf32>
          %y = gml_st.materialize %c[%part] : tensor<8xf32>[!gml_st.subset<4xf32>] to tensor<4xf32>
          %n = linalg.abs ins(%x : tensor<4xf32>) outs(%y : tensor<4xf32>) -> tensor<4xf32>
          gml_st.set_yield %n into %c[%part]
            : tensor<4xf32> into tensor<8xf32>[!gml_st.subset<4xf32>]
        } : tensor<8xf32>
    after `lower_subsets().simplify()`:
        %r = scf.forall (%i) = (0) to (8) step (4) shared_outs(%o = %c) -> (tensor<8xf32>) {
          %slice = tensor.extract_slice %a[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
          %slice_0 = tensor.extract_slice %o[%i] [4] [1] : tensor<8xf32> to tensor<4xf32>
          %1 = linalg.abs ins(%slice : tensor<4xf32>)
              outs(%slice_0 : tensor<4xf32>) -> tensor<4xf32>
          scf.forall.in_parallel {
            tensor.parallel_insert_slice %1 into %o[%i] [4] [1] : tensor<4xf32> into tensor<8xf32>
          }
        }

    On whole modules: `lower_subset_loops`, with its effect on IR.

    Raises:
        LoweringError: a loop cannot be lowered.
    """
    tidy(module)
    lower_subset_loops.apply(module)
    return []
