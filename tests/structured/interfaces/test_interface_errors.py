"""What somebody sees who asks the wrong op, or the right one wrongly."""

from __future__ import annotations

import pytest

import linalg_ext as lx
from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from linalg_ext.structured import (
    check_destination_style,
    declare_destination_style,
    destination_style,
    destinations,
    interface,
    is_destination_style,
)
from op_instances import ops_in

OPS = """
func.func @f(%a: tensor<4x8xf32>, %m: memref<4x8xf32>, %u: tensor<*xf32>, %n: memref<*xf32>,
    %i: index, %x: f32) {
  %pad = tensor.pad %a low[1, 1] high[1, 1] {
  ^bb0(%k: index, %l: index):
    tensor.yield %x : f32
  } : tensor<4x8xf32> to tensor<6x10xf32>
  bufferization.materialize_in_destination %a in restrict writable %m
    : (tensor<4x8xf32>, memref<4x8xf32>) -> ()
  %carried:2 = scf.for %k = %i to %i step %i iter_args(%o = %a, %s = %x)
      -> (tensor<4x8xf32>, f32) {
    scf.yield %o, %s : tensor<4x8xf32>, f32
  }
  %mixed:2 = scf.for %k = %i to %i step %i iter_args(%o = %a, %b = %m)
      -> (tensor<4x8xf32>, memref<4x8xf32>) {
    scf.yield %o, %b : tensor<4x8xf32>, memref<4x8xf32>
  }
  %unranked = scf.for %k = %i to %i step %i iter_args(%o = %u) -> (tensor<*xf32>) {
    scf.yield %o : tensor<*xf32>
  }
  %buffer = scf.for %k = %i to %i step %i iter_args(%o = %m) -> (memref<4x8xf32>) {
    scf.yield %o : memref<4x8xf32>
  }
  %max = linalg.max ins(%a, %a : tensor<4x8xf32>, tensor<4x8xf32>) outs(%a : tensor<4x8xf32>)
    -> tensor<4x8xf32>
  %exp = linalg.exp ins(%pad : tensor<6x10xf32>) outs(%pad : tensor<6x10xf32>)
    -> tensor<6x10xf32>
  %softmax = linalg.softmax dimension(1) ins(%a : tensor<4x8xf32>) outs(%a : tensor<4x8xf32>)
    -> tensor<4x8xf32>
  %mine:2 = "my.sort"(%a, %pad, %i) : (tensor<4x8xf32>, tensor<6x10xf32>, index)
    -> (tensor<6x10xf32>, tensor<4x8xf32>)
  "my.write"(%m, %n) : (memref<4x8xf32>, memref<*xf32>) -> ()
  %good = "my.fill"(%x, %pad) : (f32, tensor<6x10xf32>) -> tensor<6x10xf32>
  return
}"""


@pytest.fixture(scope="module")
def module() -> lx.Module:
    return lx.parse(OPS, allow_unregistered=True)


@pytest.fixture(autouse=True)
def nothing_declared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(destinations, "_declared", {})


def op(module: lx.Module, name: str, number: int = 0) -> ir.Operation:
    return [each for each in ops_in(module.ir) if each.name == name][number]


@pytest.mark.parametrize(
    ("name", "number", "error", "message"),
    [
        (
            "tensor.pad",
            0,
            ArgumentError,
            r"(?s)not a destination-style op.*result is a new tensor",
        ),
        ("func.return", 0, ArgumentError, r"(?s)func.return is not a .*declare_destination_style"),
        ("scf.yield", 0, ArgumentError, "scf.yield is not a destination-style op"),
        ("scf.for", 0, DTypeError, r"(?s)operand 4 of scf.for is of type f32: no.*tensor<f32>"),
        ("scf.for", 1, DTypeError, r"(?s)scf.for mixes tensors and buffers: operand 3.*operand 4"),
        ("scf.for", 2, ShapeError, r"(?s)operand 3 of scf.for is .*tensor<\*xf32>.*tensor.cast"),
        ("scf.for", 3, ArgumentError, r"(?s)scf.for on buffers has 1 result.*expected 0"),
        (
            "bufferization.materialize_in_destination",
            0,
            DTypeError,
            r"(?s)mixes tensors and buffers: operand 0.*operand 1.*to_tensor or to_buffer",
        ),
    ],
)
def test_an_op_without_the_interface_says_why(
    module: lx.Module, name: str, number: int, error: type[ArgumentError], message: str
) -> None:
    asked = op(module, name, number)
    with pytest.raises(error, match=message) as found:
        destination_style(asked)
    assert name in str(found.value.where)
    assert '"-":' in str(found.value.where)
    with pytest.raises(error):
        check_destination_style(asked)
    assert not is_destination_style(asked)


def test_an_op_without_loops_of_its_own_is_led_to_the_other_interface(module: lx.Module) -> None:
    with pytest.raises(
        ArgumentError, match=r"(?s)softmax is not a structured op.*destination_style"
    ):
        interface(op(module, "linalg.softmax"))


def test_the_rules_are_checked_on_any_op_whose_destinations_are_named(module: lx.Module) -> None:
    sort, write = op(module, "my.sort"), op(module, "my.write")
    with pytest.raises(DTypeError) as found:
        check_destination_style(sort, inits=[0, 1])
    assert "result 0 of my.sort is of type tensor<6x10xf32>" in str(found.value)
    assert "and result 1 of my.sort is of type tensor<4x8xf32>" in str(found.value)
    check_destination_style(sort, inits=[1, 0])
    check_destination_style(op(module, "my.fill"), inits=[1])
    with pytest.raises(ArgumentError, match=r"(?s)has 2 results.*expected 1"):
        check_destination_style(sort, inits=[0])
    with pytest.raises(DTypeError, match=r"operand 2 of my.sort is of type index"):
        check_destination_style(sort, inits=[2])
    with pytest.raises(ShapeError, match=r"memref<\*xf32>, which has no rank"):
        check_destination_style(write, inits=[0])
    with pytest.raises(ArgumentError, match=r"my.sort has 3 operand.*position 7"):
        check_destination_style(sort, inits=[7])


def test_somebodys_own_op_has_the_interface_once_it_is_declared(module: lx.Module) -> None:
    fill = op(module, "my.fill")
    with pytest.raises(ArgumentError, match=r'declare_destination_style\("my.fill"'):
        destination_style(fill)
    declare_destination_style("my.fill", inits=[1], reads_init=False)
    x = destination_style(fill)
    assert (x.init_positions, x.input_positions) == ((1,), (0,))
    assert x.tied_result(1) == fill.results[0]
    assert not x.uses_initial_value(1)
    declare_destination_style("my.fill", inits=lambda op: range(1, len(op.operands)))
    assert destination_style(fill).uses_initial_value(1)
    declare_destination_style("my.fill", inits=[1], reads_init=lambda op, position: position > 1)
    assert not destination_style(fill).uses_initial_value(1)


@pytest.mark.parametrize(
    ("name", "inits", "message"),
    [
        ("linalg.matmul", [2], "linalg.matmul is an op of upstream's or of this library"),
        ("linalg_ext.contract", [2], "linalg_ext.contract is an op of upstream's or of this"),
        ("sort", [2], "'sort' names no op"),
        ("my.sort", [-1], r"inits=\[-1\] of my.sort"),
        ("my.sort", [], r"inits=\[\] of my.sort"),
        ("my.sort", 2, r"(?s)inits = 2.*a list"),
    ],
)
def test_a_declaration_that_cannot_be_is_refused(name: str, inits: object, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        declare_destination_style(name, inits=inits)  # type: ignore[arg-type]


def test_an_operand_is_told_by_position_by_value_or_by_upstreams_handle(module: lx.Module) -> None:
    fill = op(module, "my.fill")
    declare_destination_style("my.fill", inits=[1])
    x = destination_style(fill)
    for told in (1, fill.operands[1], fill.op_operands[1], op(module, "tensor.pad").opview):
        assert x.is_init(told)
        assert x.shape(told) == (6, 10)
    for told in (0, fill.operands[0], fill.op_operands[0]):
        assert x.is_scalar(told)
        assert x.rank(told) == 0


@pytest.mark.parametrize(
    ("operand", "error", "message"),
    [
        (3, ArgumentError, r"(?s)linalg.max has no operand 3.*from 0 to 2"),
        (-1, ArgumentError, "linalg.max has no operand -1"),
        (True, ArgumentTypeError, "True is not an operand of linalg.max"),
        ("lhs", ArgumentTypeError, "'lhs' is not an operand of linalg.max"),
    ],
)
def test_an_operand_that_is_none_is_named(
    module: lx.Module, operand: object, error: type[ArgumentError], message: str
) -> None:
    with pytest.raises(error, match=message):
        destination_style(op(module, "linalg.max")).is_init(operand)  # type: ignore[arg-type]


def test_a_value_that_is_twice_an_operand_is_told_by_position(module: lx.Module) -> None:
    max_, exp = op(module, "linalg.max"), op(module, "linalg.exp")
    x = interface(max_)
    with pytest.raises(ArgumentError, match=r"(?s)operand 0 and 1 and 2 of linalg.max.*position"):
        x.payload_uses_value_of(max_.operands[0])
    with pytest.raises(
        ArgumentError, match=r"a value of type tensor<6x10xf32> is not an operand of"
    ):
        x.is_init(exp.results[0])
    with pytest.raises(ArgumentError, match=r"the operand belongs to another op than linalg.max"):
        x.is_init(exp.op_operands[0])


def test_a_question_about_the_wrong_operand_says_which_would_be_right(module: lx.Module) -> None:
    max_ = op(module, "linalg.max")
    x = interface(max_)
    for question in (x.tied_result, x.uses_initial_value, x.tied_yield_value):
        with pytest.raises(
            ArgumentError, match=r"(?s)operand 0 of linalg.max is an input.*operand 2"
        ):
            question(0)
    with pytest.raises(ArgumentError, match=r"(?s)linalg.max has no result 1.*1 result"):
        x.tied_init(1)
    with pytest.raises(ArgumentError, match=r"linalg.max has no result of that kind"):
        x.tied_indexing_map_of_result(max_.operands[0])
    with pytest.raises(ArgumentError, match=r"is not an argument of the body of linalg.max"):
        x.tied_operand(op(module, "linalg.exp").regions[0].blocks[0].arguments[0])


def test_one_thing_where_a_list_is_wanted_is_named(module: lx.Module) -> None:
    x = interface(op(module, "linalg.max"))
    for question in (x.can_drop, x.clone, x.bufferized):
        with pytest.raises(ArgumentTypeError, match=r"(?s)operands = 0.*expected a list"):
            question(0)  # type: ignore[arg-type]
    with pytest.raises(ArgumentTypeError, match=r"inits = 0"):
        check_destination_style(x.op, inits=0)  # type: ignore[arg-type]


@pytest.mark.parametrize("asked", [None, "linalg.matmul", 3])
def test_what_is_no_op_is_named(asked: object) -> None:
    with pytest.raises(ArgumentTypeError, match=r"(?s)is not an op.*expected an ir.Operation"):
        interface(asked)  # type: ignore[arg-type]


def test_a_module_is_no_op(module: lx.Module) -> None:
    with pytest.raises(ArgumentTypeError, match=r"(?s)Module is not an op.*module.ir.body"):
        destination_style(module)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match=r"builtin.module is not a destination-style op"):
        destination_style(module.ir.operation)


def test_attributes_that_make_no_maps_are_named() -> None:
    conv = """
    func.func @f(%x: memref<1x9x1xf32>, %k: memref<3x1x1xf32>, %o: memref<1x3x1xf32>) {
      linalg.conv_1d_nwc_wcf {strides = dense<2> : vector<1xi64>}
        ins(%x, %k : memref<1x9x1xf32>, memref<3x1x1xf32>) outs(%o : memref<1x3x1xf32>)
      linalg.transpose ins(%x : memref<1x9x1xf32>) outs(%x : memref<1x9x1xf32>)
        permutation = [2, 1, 0]
      return
    }"""
    module = lx.parse(conv)
    window, transpose = op(module, "linalg.conv_1d_nwc_wcf"), op(module, "linalg.transpose")
    for each in (window, transpose):
        interface(each).check_map_attributes()
    with module.context:
        window.attributes["strides"] = ir.Attribute.parse("dense<0> : vector<1xi64>")
        transpose.attributes["permutation"] = ir.DenseI64ArrayAttr.get([2, 1, 1])
    for each, message in (
        (window, r"(?s)strides = \[0\] of linalg.conv_1d_nwc_wcf.*not less than 1"),
        (transpose, r"(?s)permutation = \[2, 1, 1\] of linalg.transpose.*0 to 2, each once"),
    ):
        with pytest.raises(ArgumentError, match=message) as found:
            interface(each).check_map_attributes()
        assert each.name in str(found.value.where)
