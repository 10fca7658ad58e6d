"""TableGen's own judgement of ODS: upstream's `mlir-tblgen` and the files that it includes."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from resources import skip_absent, upstream_tool

INCLUDES = Path("/usr/lib/llvm-22/include")


def upstream_base_classes() -> str:
    """What upstream's structured ops are declared with: the head of its own file, up to the ops."""
    file = INCLUDES / "mlir/Dialect/Linalg/IR/LinalgStructuredOps.td"
    if not file.is_file():
        skip_absent(f"{file} (Debian package libmlir-22-dev)")
    head, _, _ = file.read_text().partition("\ndef ")
    return head.rpartition("//===---")[0].rpartition("//===---")[0] + "\n#endif\n"


def classes_of(records: str, folder: Path) -> list[str]:
    """The classes of the ops that TableGen declares for some records.

    Raises:
        AssertionError: TableGen refuses them; its message.
    """
    tool = upstream_tool("mlir-tblgen-22")
    if not INCLUDES.is_dir():
        skip_absent("libmlir-22-dev (Debian package)")
    file = folder / "ops.td"
    file.write_text(records)
    declared = ""
    for action in ("-gen-op-defs", "-gen-op-decls"):
        command = [str(tool), action, "-I", str(INCLUDES), str(file)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        declared = done.stdout
    return re.findall(r"^class (\w+) : public ::mlir::Op<", declared, re.M)
