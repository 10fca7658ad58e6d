"""Wrong documents: each names the mistake, the line, the field, and what was expected."""

from __future__ import annotations

from pathlib import Path

import pytest

import linalg_ext as lx
from linalg_ext.errors import NotationError
from linalg_ext.notations import from_yaml_all

GOOD = """\
--- !LinalgOpConfig
metadata: !LinalgOpMetadata
  name: pool
  cpp_class_name: PoolOp
  doc: A sliding sum.
structured_op: !LinalgStructuredOpConfig
  args:
  - !LinalgOperandDefConfig
    name: I
    kind: input_tensor
    type_var: T1
    shape_map: affine_map<()[s0, s1, s2, s3] -> (s0 * s1 + s2 * s3)>
  - !LinalgOperandDefConfig
    name: K
    kind: input_tensor
    type_var: T2
    shape_map: affine_map<()[s0, s1, s2, s3] -> (s2)>
  - !LinalgOperandDefConfig
    name: O
    kind: output_tensor
    type_var: U
    shape_map: affine_map<()[s0, s1, s2, s3] -> (s0)>
  - !LinalgOperandDefConfig
    name: strides
    kind: index_attr
    index_attr_map: affine_map<()[s0, s1, s2, s3] -> (s1)>
    default_indices:
    - 1
  - !LinalgOperandDefConfig
    name: dilations
    kind: index_attr
    index_attr_map: affine_map<()[s0, s1, s2, s3] -> (s3)>
    default_indices:
    - 1
  - !LinalgOperandDefConfig
    name: cast
    kind: type_fn_attr
    default_fn: cast_signed
  indexing_maps: !LinalgIndexingMapsConfig
    static_indexing_maps:
    - affine_map<(d0, d1)[s0, s1, s2, s3] -> (d0 * s1 + d1 * s3)>
    - affine_map<(d0, d1)[s0, s1, s2, s3] -> (d1)>
    - affine_map<(d0, d1)[s0, s1, s2, s3] -> (d0)>
  iterator_types:
  - parallel
  - reduction
  assignments:
  - !ScalarAssign
    arg: O
    value: !ScalarExpression
      scalar_fn:
        kind: binary
        fn_name: add
        operands:
        - !ScalarExpression
          scalar_arg: O
        - !ScalarExpression
          scalar_fn:
            kind: type
            attr_name: cast
            type_var: U
            operands:
            - !ScalarExpression
              scalar_arg: I
"""


def test_the_document_is_right_before_it_is_made_wrong() -> None:
    op = lx.from_yaml(GOOD)
    assert op.definition.operand("K").index_dims is not None
    assert lx.to_yaml(op).splitlines()[6:] == GOOD.splitlines()[6:]


WRONG = {
    # name: (text, what replaces it, the message, the field)
    "tag of the document": ("!LinalgOpConfig", "!LinalgOpConfg", "has the tag !LinalgOpConfg", ""),
    "tag of an expression": (
        "value: !ScalarExpression",
        "value: !ScalarAssign",
        "has the tag !ScalarAssign",
        "structured_op.assignments[0].value",
    ),
    "no class name": ("  cpp_class_name: PoolOp\n", "", "no field `cpp_class_name`", "metadata"),
    "unknown field": (
        "  doc: A sliding sum.",
        "  docs: A sliding sum.",
        "did you mean doc?",
        "metadata.docs",
    ),
    "field twice": ("  doc: A sliding sum.", "  name: pool", "given twice", "metadata.name"),
    "name with a space": ("name: pool", "name: my pool", "is not a name", "metadata.name"),
    "empty name": ("name: pool", "name: ''", "is empty", "metadata.name"),
    "args is a mapping": (
        "iterator_types:\n  - parallel\n  - reduction",
        "iterator_types:\n    d0: parallel",
        "a list of parallel and reduction",
        "structured_op.iterator_types",
    ),
    "kind": (
        "kind: output_tensor",
        "kind: output_tenser",
        "did you mean output_tensor?",
        "structured_op.args[2].kind",
    ),
    "tensor without a type": (
        "    type_var: T1\n",
        "",
        "input_tensor I has no field `type_var`",
        "structured_op.args[0]",
    ),
    "tensor with defaults": (
        "    type_var: T1\n",
        "    type_var: T1\n    default_fn: exp\n",
        "takes no field `default_fn`",
        "structured_op.args[0].default_fn",
    ),
    "shape with dimensions": (
        "affine_map<()[s0, s1, s2, s3] -> (s2)>",
        "affine_map<(d0)[s0, s1, s2, s3] -> (d0)>",
        "the map of a shape has dimensions",
        "structured_op.args[1].shape_map",
    ),
    "shape that is not a map": (
        "affine_map<()[s0, s1, s2, s3] -> (s2)>",
        "(s1)",
        "an affine map cannot have `(` here",
        "structured_op.args[1].shape_map",
    ),
    "undeclared symbol": (
        "affine_map<()[s0, s1, s2, s3] -> (s2)>",
        "affine_map<()[s0, s1, s2, s3] -> (s4)>",
        "s4 is not declared by the map",
        "structured_op.args[1].shape_map",
    ),
    "product of dimensions": (
        "-> (d0 * s1 + d1 * s3)>",
        "-> (d0 * d1)>",
        "multiplies two dimensions",
        "structured_op.indexing_maps.static_indexing_maps[0]",
    ),
    "a map too few": (
        "    - affine_map<(d0, d1)[s0, s1, s2, s3] -> (d1)>\n",
        "",
        "one for each of I, K, O",
        "structured_op.indexing_maps.static_indexing_maps",
    ),
    "a dimension too many": (
        "affine_map<(d0, d1)[s0, s1, s2, s3] -> (d1)>",
        "affine_map<(d0, d1, d2)[s0, s1, s2, s3] -> (d1)>",
        "has 3 dimensions",
        "structured_op.indexing_maps.static_indexing_maps[1]",
    ),
    "iterator type": (
        "  - reduction",
        "  - window",
        "`window`, which is not an iterator type",
        "structured_op.iterator_types[1]",
    ),
    "wrong iterator type": (
        "  - parallel\n",
        "  - reduction\n",
        "dimension d0 is said to be a reduction",
        "structured_op.iterator_types",
    ),
    "no reduction": (
        "fn_name: add",
        "fn_name: sub",
        "its value is not a reduction",
        "structured_op.assignments[0]",
    ),
    "function beyond upstream's": (
        "fn_name: add",
        "fn_name: xor",
        "not a binary function of upstream's format",
        "structured_op.assignments[0].value.scalar_fn.fn_name",
    ),
    "kind of function": (
        "kind: binary",
        "kind: binry",
        "did you mean binary?",
        "structured_op.assignments[0].value.scalar_fn.kind",
    ),
    "arity": (
        "kind: binary\n        fn_name: add",
        "kind: unary\n        fn_name: exp",
        "exp got 2 operands",
        "structured_op.assignments[0].value.scalar_fn.operands",
    ),
    "cast without a type": (
        "            type_var: U\n",
        "",
        "cast has no field `type_var`",
        "structured_op.assignments[0].value.scalar_fn.operands[1].scalar_fn",
    ),
    "type of a sum": (
        "fn_name: add\n",
        "fn_name: add\n        type_var: U\n",
        "add takes no type variable",
        "structured_op.assignments[0].value.scalar_fn.type_var",
    ),
    "unknown type variable": (
        "            type_var: U\n",
        "            type_var: V\n",
        "type variable V",
        "structured_op.assignments[0]",
    ),
    "two names of a function": (
        "fn_name: add",
        "fn_name: add\n        attr_name: cast",
        "both fn_name and attr_name",
        "structured_op.assignments[0].value.scalar_fn",
    ),
    "unknown attribute": (
        "attr_name: cast",
        "attr_name: cost",
        "did you mean cast?",
        "attr_name",
    ),
    "unknown operand": (
        "scalar_arg: I\n",
        "scalar_arg: X\n",
        "is not a tensor or scalar operand",
        "operands[0].scalar_arg",
    ),
    "attribute as an operand": (
        "scalar_arg: I\n",
        "scalar_arg: strides\n",
        "is not a tensor or scalar operand",
        "operands[0].scalar_arg",
    ),
    "two forms": (
        "scalar_arg: I\n",
        "scalar_arg: I\n              scalar_index: 0\n",
        "has 2 of the fields",
        "operands[0]",
    ),
    "position of no dimension": (
        "scalar_arg: I\n",
        "scalar_index: 2\n",
        "the op has no dimension 2",
        "scalar_index",
    ),
    "position that is not a number": (
        "scalar_arg: I\n",
        "scalar_index: d0\n",
        "is not an integer",
        "scalar_index",
    ),
    "constant without a type": (
        "scalar_arg: I\n",
        "scalar_const: 2.5\n",
        "`2.5` is not a constant",
        "scalar_const",
    ),
    "constant out of range": (
        "scalar_arg: I\n",
        "scalar_const: '9223372036854775808 : i64'\n",
        "does not fit in 64 bits",
        "scalar_const",
    ),
    "assignment to an input": (
        "    arg: O\n",
        "    arg: I\n",
        "`I`, which is not an output",
        "structured_op.assignments[0].arg",
    ),
    "defaults that are too many": (
        "-> (s1)>\n    default_indices:\n    - 1\n",
        "-> (s1)>\n    default_indices:\n    - 1\n    - 1\n",
        "strides has 2 defaults",
        "structured_op.args[3]",
    ),
    "default function": (
        "default_fn: cast_signed",
        "default_fn: exp",
        "not a type function of upstream's format",
        "structured_op.args[5].default_fn",
    ),
    "an operand twice": ("name: K\n", "name: I\n", "operand I is declared twice", ""),
    "alias": (
        "  - parallel\n  - reduction\n",
        "  - &kind parallel\n  - *kind\n",
        "is given by an alias",
        "structured_op.iterator_types",
    ),
    "tag of Python": (
        "name: pool",
        "name: !!python/object/apply:os.system ['echo harm']",
        "metadata.name",
        "metadata.name",
    ),
    "tag of Python on text": (
        "name: pool",
        "name: !!python/name:os.system 'x'",
        "has the tag",
        "metadata.name",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_document_says_what_and_where(case: str) -> None:
    before, after, message, field = WRONG[case]
    assert GOOD.count(before) >= 1
    with pytest.raises(NotationError) as caught:
        lx.from_yaml(GOOD.replace(before, after, 1), filename="ops.yaml")
    text = str(caught.value)
    assert message in text
    assert field in text
    assert "ops.yaml, line " in text
    assert "column " in text


def test_the_place_is_the_line_and_the_column_of_the_mistake() -> None:
    wrong = GOOD.replace("-> (s2)>", "-> (s2 + s9)>", 1)
    with pytest.raises(NotationError) as caught:
        lx.from_yaml(wrong, filename="ops.yaml")
    line = wrong.splitlines()[16]
    column = line.index("s9") + 1
    assert f"ops.yaml, line 17, column {column}," in str(caught.value)
    assert line.strip() in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "holds no document"),
        ("# nothing but this\n", "holds no document"),
        ("pool", "is `pool`"),
        ("- 1\n- 2\n", "is a list"),
        ("a: [1, 2\n", "the text is not YAML"),
        ("a: 'text\n", "the text is not YAML"),
        ("a: b: c\n", "the text is not YAML"),
        ("\tkey: 1\n", "the text is not YAML"),
        ("a: *nowhere\n", "the text is not YAML"),
        ("a: \x00\n", "a character that YAML does not allow"),
        ("[" * 3000, "the text is"),
        ("&a {metadata: *a, structured_op: *a}", "is given by an alias"),
    ],
)
def test_what_is_no_document_is_one_clear_error(text: str, message: str) -> None:
    with pytest.raises(NotationError, match=message):
        lx.from_yaml(text)


def test_the_second_document_is_read_as_strictly_as_the_first() -> None:
    with pytest.raises(NotationError, match=r"line 67, .*metadata.name"):
        from_yaml_all(GOOD + GOOD.replace("name: pool", "name: 'a b'"))


def test_a_path_in_place_of_a_text_is_refused() -> None:
    with pytest.raises(NotationError, match="read_text"):
        lx.from_yaml(Path("ops.yaml"))  # type: ignore[arg-type]
