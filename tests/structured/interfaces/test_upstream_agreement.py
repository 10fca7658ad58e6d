"""Answers about upstream's named ops, beside those that upstream gives by what it makes of them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from linalg_ext.bindings import bufferization, func, ir, linalg, passmanager
from linalg_ext.structured import StructuredInterface, interface
from linalg_ext.structured.operands import producer
from op_instances import named_ops, scratch

MEMOIZED = "linalg.memoized_indexing_maps"
"""What upstream remembers the maps of an op in, once somebody asked for them."""

UNNAMED = "op_has_no_registered_library_name"
"""What upstream calls the function of an op that it has no name for."""


@pytest.fixture(scope="module")
def asked() -> Mapping[str, StructuredInterface]:
    """Each op, on buffers."""
    return {name: interface(op) for name, op in named_ops(memref=True)[1].items()}


def made_of_it(pipeline: str, *, memref: bool = True) -> Mapping[str, list[ir.Operation]]:
    """What a pipeline makes of each op: the ops of its function, by the name of the op."""
    module, _ = named_ops(memref=memref)
    copy = ir.Module.parse(str(module), module.context)
    passmanager.PassManager.parse(f"builtin.module({pipeline})", copy.context).run(copy.operation)
    _alive.append(copy)
    return {
        function.name.value: [op.operation for op in function.entry_block.operations][:-1]
        for function in copy.body.operations
        if isinstance(function, func.FuncOp) and not function.is_external
    }


_alive: list[ir.Module] = []


def test_maps_and_iterators_are_those_of_the_generalized_op(
    asked: Mapping[str, StructuredInterface],
) -> None:
    generics = made_of_it("linalg-generalize-named-ops")
    assert generics.keys() == asked.keys()
    for name, (*_, generic) in generics.items():  # constants of the body may stand before it
        x = asked[name]
        assert str(x.indexing_maps_attribute) == str(generic.attributes["indexing_maps"]), name
        assert str(x.iterator_types_attribute) == str(generic.attributes["iterator_types"]), name
        arguments = generic.regions[0].blocks[0].arguments
        assert [x.payload_uses_value_of(i) for i in range(x.num_operands)] == [
            len(list(argument.uses)) > 0 for argument in arguments
        ]
        assert x.has_index_semantics == ("linalg.index" in str(generic)), name


def test_the_region_builder_makes_the_generalized_op() -> None:
    generics = made_of_it("linalg-generalize-named-ops")
    for name, (op,) in made_of_it("").items():
        x = interface(op)
        with ir.InsertionPoint(op), op.location:
            built = linalg.GenericOp(
                result_tensors=[],
                inputs=x.inputs,
                outputs=x.inits,
                indexing_maps=x.indexing_maps_attribute,
                iterator_types=x.iterator_types_attribute,
            )
            x.region_builder()(built.regions[0].blocks.append(*_elements(x)))
        assert op.verify()  # it has its own body still
        op.erase()
        assert built.operation.verify()
        *constants, expected = generics[name]
        if MEMOIZED in expected.attributes:
            del expected.attributes[MEMOIZED]
        if constants:  # upstream moves them out of the body, and simplifies it
            assert name in ("fill_rng_2d", "reciprocal")
        else:
            assert str(built.operation.parent) == str(expected.parent), name


def _elements(x: StructuredInterface) -> list[ir.Type]:
    types = [value.type for value in x.operands]
    return [t if x.is_scalar(i) else ir.ShapedType(t).element_type for i, t in enumerate(types)]


def test_loop_ranges_are_the_bounds_of_the_loops(asked: Mapping[str, StructuredInterface]) -> None:
    for name, ops in made_of_it("convert-linalg-to-loops").items():
        bounds: list[int] = []
        loop: ir.Operation | None = next(op for op in ops if op.name == "scf.for")
        while loop is not None:
            bound = producer(loop.operands[1])
            assert bound is not None
            bounds.append(ir.IntegerAttr(bound.attributes["value"]).value)
            body = [op.operation for op in loop.regions[0].blocks[0].operations]
            loop = next((op for op in body if op.name == "scf.for"), None)
        assert asked[name].static_loop_ranges == tuple(bounds), name


def test_library_names_are_those_of_upstreams_calls(
    asked: Mapping[str, StructuredInterface],
) -> None:
    tensors = named_ops(memref=False)[1]
    for name, ops in made_of_it("convert-linalg-to-std").items():
        called = ir.FlatSymbolRefAttr(ops[-1].attributes["callee"]).value
        expected = None if called == UNNAMED else called
        assert asked[name].library_call_name == expected, name
        assert interface(tensors[name]).library_call_name == expected, name


def numbers(dims: ir.Attribute) -> tuple[int, ...]:
    return tuple(ir.DenseI32ArrayAttr(dims))


def test_contractions_part_along_their_batches(asked: Mapping[str, StructuredInterface]) -> None:
    contractions = [x for x in asked.values() if linalg.isa_contraction_op(x.op)]
    assert len(contractions) > 8
    for x in contractions:
        dims = linalg.infer_contraction_dimensions(x.op)
        assert dims is not None
        assert x.partition_dims == numbers(dims.batch), x
        assert x.reduction_dims == numbers(dims.k), x
        assert x.window_dims == ()


def test_windows_are_those_of_convolutions(asked: Mapping[str, StructuredInterface]) -> None:
    inferred = {
        name: linalg.infer_convolution_dimensions(x.op)
        for name, x in asked.items()
        if linalg.isa_convolution_op(x.op)
    }
    # Upstream infers none for those with zero points.
    assert {name for name, dims in inferred.items() if dims is None} == {
        name for name in inferred if name.endswith("_q")
    }
    assert len(inferred) > 30
    for name, dims in inferred.items():
        x = asked[name]
        if dims is None:
            assert x.window_dims == asked[name.removesuffix("_q")].window_dims
            continue
        assert x.window_dims == numbers(dims.filter_loop), x
        assert x.window_dims == tuple(sorted({*x.window_dims} & {*x.reduction_dims}))


def test_an_op_bufferized_to_itself_is_what_bufferization_makes() -> None:
    expected = made_of_it(
        "one-shot-bufferize{bufferize-function-boundaries "
        "function-boundary-type-conversion=identity-layout-map}",
        memref=False,
    )
    for name, op in named_ops(memref=False)[1].items():
        (upstreams,) = [each for each in expected[name] if each.name == op.name]
        with scratch(op):
            buffers = [_buffer_of(value) for value in op.operands]
            bufferized = interface(op).bufferized(buffers)
            assert _said(bufferized) == _said(upstreams), name
            assert list(bufferized.operands) == buffers


def _buffer_of(value: ir.Value) -> ir.Value:
    if not isinstance(value.type, ir.RankedTensorType):
        return value
    type_ = ir.MemRefType.get(value.type.shape, value.type.element_type)
    return bufferization.ToBufferOp(type_, value).result


def _said(op: ir.Operation) -> tuple[object, ...]:
    """What an op is, but for the names of its operands."""
    attributes = {name: str(attribute) for name, attribute in op.attributes.items()}
    for derived in (MEMOIZED, "indexing_maps"):
        attributes.pop(derived, None)
    body = [str(inner.operation.name) for inner in op.regions[0].blocks[0].operations]
    return op.name, [str(v.type) for v in op.operands], list(op.results), attributes, body
