"""The rewrites on modules exported from PyTorch models: in several orders, numbers unchanged.

`matches.json` holds how often each rewrite changed something, for each module and order: a rewrite
that is switched off, or that stops to match, or matches more, shows there. To write it anew:

    LINALG_EXT_WRITE_MATCHES=1 python -m pytest -n 0 tests/transforms/rewrites/test_on_modules.py
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest

import linalg_ext as lx
from exported_modules import arrays_of, index_of, module_params
from linalg_ext.rewriting import Transformation

ORDERS = {
    "fold": "fold_broadcasts fold_transposes fold_unit_dims",
    "fold, unfold": "fold_into_maps unfold_maps",
    "raise, lower": "raise_to_contract lower_contract",
    "names": "specialize categorize name_categories",
    "products": "categorize specialize_matmul generalize raise_matmul_variants",
    "generic": "generalize fold_into_maps specialize generalize",
    "compute": "infer_compute_type propagate_compute_type materialize_compute_type",
    "all": "fold_into_maps specialize raise_to_contract lower_contract categorize "
    "raise_matmul_variants specialize_matmul name_categories unfold_maps",
}
MATCHES = Path(__file__).with_name("matches.json")
WRITE = bool(os.environ.get("LINALG_EXT_WRITE_MATCHES"))


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("path", module_params())
def test_rewrites_keep_the_numbers(path: Path, order: str) -> None:
    facts = index_of(path)
    module = lx.parse(path.read_text(), trusted=True)  # MLIR printed it itself
    changed = {}
    for name in ORDERS[order].split():
        transformation: Transformation = getattr(lx.transforms, name)
        changed[name] = transformation(module).changed.total()
    inputs, expected = arrays_of(path)
    results = lx.compile(module, entry="main", trusted=True)(*inputs)
    for result, wanted in zip(
        results if isinstance(results, tuple) else (results,), expected, strict=True
    ):
        np.testing.assert_allclose(result, wanted, rtol=facts["rtol"], atol=facts["atol"])
    known = json.loads(MATCHES.read_text())
    if WRITE:
        known.setdefault(path.stem, {})[order] = changed
        MATCHES.write_text(_shown(known))
    assert known[path.stem][order] == changed


def _shown(known: dict[str, dict[str, dict[str, int]]]) -> str:
    """A line for each module and order."""
    modules = []
    for module, orders in sorted(known.items()):
        lines = [f"    {json.dumps(order)}: {json.dumps(orders[order])}" for order in orders]
        modules.append(f"  {json.dumps(module)}: {{\n" + ",\n".join(lines) + "\n  }")
    return "{\n" + ",\n".join(modules) + "\n}\n"
