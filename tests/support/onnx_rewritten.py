"""Models of ONNX whose nodes are written as others before they are imported."""

from __future__ import annotations

from typing import Any

import numpy as np

from onnx_models import FLOAT, INT64, UINT8, helper, i64, integers, model, normal, one, onnx

BOOL = 9
Case = tuple[Any, tuple[Any, ...]]

_rows = normal(5, 2, 3)
_none = np.array([], np.float32)


def layer(op: str, gates: int, *more: Any, directions: int = 1, **said: Any) -> Case:
    """A recurrent layer of 5 steps, 2 rows, 3 inputs and 4 states."""
    shapes = (gates * 4, 3), (gates * 4, 4), (gates * 8,)
    weights = [normal(directions, *shape) for shape in shapes]
    gives = (FLOAT,) * (3 if op == "LSTM" else 2)
    return one(op, _rows, weights=[*weights, *more], gives=gives, hidden_size=4, **said)


def resized(scales: Any = _none, sizes: Any = None, **said: Any) -> Case:
    """An image of 4 x 6, by scales or to sizes."""
    more = [] if sizes is None else [i64(*sizes)]
    return one(
        "Resize",
        normal(1, 2, 4, 6),
        weights=[_none, np.asarray(scales, np.float32), *more],
        **said,
    )


def body(nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any]) -> Any:
    """The graph of a loop, or of a branch: element types and shapes by names."""
    info = helper.make_tensor_value_info
    return helper.make_graph(
        nodes,
        "body",
        [info(name, *kind) for name, kind in inputs.items()],
        [info(name, *kind) for name, kind in outputs.items()],
    )


def loop() -> Case:
    inside = body(
        [
            helper.make_node("Identity", ["go"], ["on"]),
            helper.make_node("Cast", ["step"], ["number"], to=FLOAT),
            helper.make_node("Mul", ["state", "w0"], ["half"]),
            helper.make_node("Add", ["half", "number"], ["new"]),
            helper.make_node("Relu", ["new"], ["made"]),
        ],
        {"step": (INT64, []), "go": (BOOL, []), "state": (FLOAT, [3])},
        {"on": (BOOL, []), "new": (FLOAT, [3]), "made": (FLOAT, [3])},
    )
    node = helper.make_node("Loop", ["count", "", "x"], ["y", "all"], body=inside)
    x = normal(3)
    weights = {"count": np.array(4, np.int64), "w0": np.float32(0.5)}
    found = model([node], {"x": (x, [3])}, {"y": FLOAT, "all": FLOAT}, weights)
    for output, sizes in zip(found.graph.output, ([3], [4, 3]), strict=True):
        output.type.CopyFrom(helper.make_tensor_type_proto(FLOAT, sizes))
    return found, (x,)


def scan() -> Case:
    inside = body(
        [
            helper.make_node("Add", ["state", "row"], ["new"]),
            helper.make_node("Neg", ["new"], ["n"]),
        ],
        {"state": (FLOAT, [2]), "row": (FLOAT, [2])},
        {"new": (FLOAT, [2]), "n": (FLOAT, [2])},
    )
    node = helper.make_node(
        "Scan",
        ["x", "rows"],
        ["y", "all"],
        body=inside,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_input_directions=[1],
        scan_output_axes=[-1],
        scan_output_directions=[1],
    )
    x, rows = normal(2), normal(2, 4)
    given = {"x": (x, [2]), "rows": (rows, [2, 4])}
    return model([node], given, {"y": FLOAT, "all": FLOAT}), (x, rows)


def branches(condition: Any) -> Case:
    """A branch that takes what is around it; the condition is held, or given."""
    one_, other = (
        body([helper.make_node(op, ["x", "x"], [op])], {}, {op: (FLOAT, [3])})
        for op in ("Add", "Sub")
    )
    node = helper.make_node("If", ["c"], ["y"], then_branch=one_, else_branch=other)
    x = normal(3)
    if condition is None:
        c = np.array(False)
        return model([node], {"x": (x, [3]), "c": (c, [])}, {"y": FLOAT}), (x, c)
    return model([node], {"x": (x, [3])}, {"y": FLOAT}, {"c": np.array(condition)}), (x,)


def function() -> Case:
    """A function of the model's own, with an attribute, that calls another."""
    own = "of.the.model"
    imports = [helper.make_opsetid("", 17), helper.make_opsetid(own, 1)]
    scale = helper.make_node("LeakyRelu", ["t"], ["r"])
    scale.attribute.append(
        onnx.AttributeProto(name="alpha", ref_attr_name="slope", type=onnx.AttributeProto.FLOAT)
    )
    inner = helper.make_function(
        own, "Twice", ["a"], ["b"], [helper.make_node("Add", ["a", "a"], ["b"])], imports
    )
    outer = helper.make_function(
        own,
        "Bent",
        ["s"],
        ["r"],
        [helper.make_node("Twice", ["s"], ["t"], domain=own), scale],
        imports,
        ["slope"],
    )
    x = normal(2, 3)
    nodes = [
        helper.make_node("Bent", ["x"], ["t"], domain=own, slope=0.25),
        helper.make_node("Bent", ["t"], ["y"], domain=own, slope=0.5),
    ]
    info = helper.make_tensor_value_info
    graph = helper.make_graph(nodes, "g", [info("x", FLOAT, [2, 3])], [info("y", FLOAT, [2, 3])])
    found = helper.make_model(graph, opset_imports=imports, functions=[inner, outer], ir_version=9)
    return found, (x,)


def of_opset(version: int, case: Case) -> Case:
    found, given = case
    old = onnx.ModelProto()
    old.CopyFrom(found)
    old.opset_import[0].version = version
    return old, given


def _of_opset_9() -> Case:
    """Axes were attributes."""
    x, info = normal(3, 4), helper.make_tensor_value_info
    node = helper.make_node("Unsqueeze", ["x"], ["y"], axes=[0, 2])
    shapes = [info("x", FLOAT, [3, 4])], [info("y", FLOAT, [1, 3, 1, 4])]
    graph = helper.make_graph([node], "g", *shapes)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 9)], ir_version=4), (x,)


_state = normal(2, 2, 4)
_bytes = integers(np.uint8, 4, 5)

MODELS: dict[str, Case] = {
    "lstm backwards": layer("LSTM", 4, direction="reverse"),
    "lstm both ways": layer(
        *("LSTM", 4, np.array([5, 5], np.int32), _state, _state),
        directions=2,
        direction="bidirectional",
    ),
    "lstm with peepholes": layer(
        "LSTM", 4, np.array([5, 5], np.int32), *(_state[:1],) * 2, normal(1, 12)
    ),
    "gru": layer("GRU", 3),
    "gru both ways": layer("GRU", 3, directions=2, direction="bidirectional"),
    "gru, reset behind": layer("GRU", 3, linear_before_reset=1),
    "rnn, affine": layer(
        "RNN", 1, activations=["Affine"], activation_alpha=[0.5], activation_beta=[0.1]
    ),
    "nearest": resized([1, 1, 2, 3], mode="nearest"),
    "nearest, fewer": resized(
        *([1, 1, 0.6, 0.5],),
        mode="nearest",
        nearest_mode="floor",
        coordinate_transformation_mode="asymmetric",
    ),
    "linear": resized([1, 1, 1.5, 2], mode="linear"),
    "linear, corners": resized(
        sizes=(1, 2, 7, 3), mode="linear", coordinate_transformation_mode="align_corners"
    ),
    "linear, PyTorch's": resized(
        sizes=(1, 2, 3, 9), mode="linear", coordinate_transformation_mode="pytorch_half_pixel"
    ),
    "cubic": resized([1, 1, 2, 0.5], mode="cubic", cubic_coeff_a=-0.5, exclude_outside=1),
    "branch": branches(True),
    "other branch": branches(False),
    "choice of branches": branches(None),
    "ops by their definitions": one("Celu", normal(3, 4), alpha=2.0),
    "attributes of definitions": one("Shrink", normal(3, 4), lambd=0.3),
    "window": one("HannWindow", weights=[np.array(8, np.int64)]),
    "bytes added": one("Add", _bytes, _bytes[::-1].copy(), gives=(UINT8,)),
    "bytes divided": one("Div", _bytes, _bytes[::-1] // 8 + 1, gives=(UINT8,)),
    "bytes compared": one("Less", _bytes, _bytes[::-1].copy(), gives=(BOOL,)),
    "bytes, least": one("Min", _bytes, _bytes[::-1].copy(), gives=(UINT8,)),
    "vector and matrices": one("MatMul", normal(4), normal(2, 4, 3)),
    "no dropout": one("Dropout", normal(3, 4), gives=(FLOAT, BOOL)),
    "older opset": _of_opset_9(),
}
"""By what they try: a model, and its inputs."""
