"""The example of the step that calls a library: what stands behind the call is not shown."""

from __future__ import annotations

import linalg_ext as lx
from examples import examples_of
from linalg_ext.transforms.schedules.schedule import all_steps
from rewrite_texts import function, parsed


def test_a_call_of_a_library_replaces_the_op() -> None:
    (example,) = examples_of(all_steps()["call_library"])
    arguments = "%a: tensor<8x16xf32>, %b: tensor<16x12xf32>, %c: tensor<8x12xf32>"
    module = parsed(function(arguments, example.before, "tensor<8x12xf32>"))
    with lx.libraries.openblas():
        eval(f"schedule.{example.call}", {"schedule": lx.Schedule(module)})
    shown = " ".join(example.after.split()).replace("%r", "%0")
    for number, name in enumerate("abc"):
        shown = shown.replace(f"%{name}", f"%arg{number}")
    assert shown in " ".join(str(module).split())
