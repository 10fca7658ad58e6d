"""Structured ops of models that PyTorch exported: how many are read, and why the others are not."""

from __future__ import annotations

from collections import Counter

from exported_modules import MODULES, index_of
from linalg_ext.bindings import ir
from linalg_ext.errors import RecognitionError
from linalg_ext.ir.context import new_context
from linalg_ext.structured import definition_of

REFUSED = {
    "cf.assert in the body": 20,
    "the index is computed": 17,
}
"""Why ops are refused."""


def _parse(text: str) -> ir.Module:
    with new_context(allow_unregistered=True):
        return ir.Module.parse(text)


def test_most_of_what_models_hold_is_read() -> None:
    read: Counter[str] = Counter()
    refused: Counter[str] = Counter()

    def visit(op: ir.Operation) -> ir.WalkResult:
        operation = op.operation
        kind = "generic" if operation.name == "linalg.generic" else "named"
        has_body = operation.name.startswith("linalg.") and len(operation.regions) == 1
        if not has_body or operation.name == "linalg.softmax":
            return ir.WalkResult.ADVANCE
        try:
            definition_of(operation)
        except RecognitionError as error:
            refused[error.reason] += 1
        else:
            read[kind] += 1
        return ir.WalkResult.ADVANCE

    skipped = 0
    counted: Counter[str] = Counter()
    for path in sorted(MODULES.glob("*.mlir")):
        text = path.read_text()
        if "tm_tensor" in text:
            skipped += 1  # a dialect of the exporter's own
            continue
        _parse(text).operation.walk(visit)
        counted.update(index_of(path)["ops"])
    assert skipped == 3
    # The exporter counted them, by their texts.
    structured = Counter(
        {
            name: count
            for name, count in counted.items()
            if name.startswith("linalg.") and name not in ("linalg.yield", "linalg.index")
        }
    )
    assert dict(refused) == REFUSED
    assert read["generic"] == structured["linalg.generic"] - sum(REFUSED.values())
    assert read["named"] == structured.total() - structured["linalg.generic"]
