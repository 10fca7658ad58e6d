"""The op library as a user meets it: its names, its docs, its YAML files."""

from __future__ import annotations

import importlib
import pydoc
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

import linalg_ext
from linalg_ext.bindings import provider
from linalg_ext.errors import NotationError
from linalg_ext.notations.yaml import to_yaml
from linalg_ext.opdsl import StructuredOp
from resources import REPOSITORY, upstream_tool

FOLDER = REPOSITORY / "opdsl_defs"
FAMILIES = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))
NAMES = dir(linalg_ext.ops)

OUTPUT_RANK_CORRECTED = {"depthwise_conv_3d_ndhwc_dhwc", "depthwise_conv_3d_ndhwc_dhwcm"}
"""Upstream declares the output of these without an axis that it indexes it with."""


def _family(name: str) -> Any:
    return importlib.import_module(f"linalg_ext.opdsl_defs.{name}")


def _ops(family: str) -> dict[str, StructuredOp]:
    """The ops of a file, in its order."""
    return {k: v for k, v in vars(_family(family)).items() if isinstance(v, StructuredOp)}


def test_a_definition_is_a_line_in_a_list_and_its_text_in_print() -> None:
    definition = linalg_ext.ops.matvec.definition
    assert repr(definition) == "matvec(A: T1(M, N), y: T2(N)) -> x: U(M)"
    assert str(definition).startswith(
        f"{definition!r}\n  over (m: parallel, n: reduction)\n  x[m] ="
    )


@pytest.fixture(scope="module")
def upstream() -> Any:
    return importlib.import_module(f"{provider()}.dialects.linalg.opdsl.ops.core_named_ops")


def _upstream_ops(upstream: Any) -> list[Any]:
    """Upstream's definitions of its core ops."""
    defined = importlib.import_module(f"{provider()}.dialects.linalg.opdsl.lang.dsl")
    return [v.op_def for v in vars(upstream).values() if isinstance(v, defined.DefinedOpCallable)]


def _upstream_documents(upstream: Any) -> dict[str, Any]:
    """Upstream's own YAML of its own ops, by name."""
    language = f"{provider()}.dialects.linalg.opdsl.lang"
    config = importlib.import_module(f"{language}.config").LinalgOpConfig
    dump = importlib.import_module(f"{language}.yaml_helper").yaml_dump_all
    ops = _upstream_ops(upstream)
    text = dump([found for op in ops for found in config.from_linalg_op_def(op)])
    return {document["metadata"]["name"]: document for document in _load(text)}


class _Loader(yaml.SafeLoader):
    """Reads upstream's tags as plain mappings."""


_Loader.add_multi_constructor(
    "!", lambda loader, _, node: {"tag": node.tag, **loader.construct_mapping(node, deep=True)}
)


def _load(text: str) -> list[Any]:
    return list(yaml.load_all(text, Loader=_Loader))


def test_upstreams_ops_are_all_here_and_say_the_same(upstream: Any) -> None:
    theirs = _upstream_documents(upstream)
    assert len(theirs) >= 81
    for name, document in theirs.items():
        (ours,) = _load(to_yaml(getattr(linalg_ext.ops, name)))
        for each in (ours, document):
            del each["metadata"]["doc"]
            if name in OUTPUT_RANK_CORRECTED:
                for operand in each["structured_op"]["args"]:
                    if operand["kind"] == "output_tensor":
                        del operand["shape_map"]
        # The keys' order is a part of the format's look, so that it counts too.
        assert yaml.safe_dump(ours, sort_keys=False) == yaml.safe_dump(document, sort_keys=False)


@pytest.mark.parametrize("name", sorted(OUTPUT_RANK_CORRECTED))
def test_an_output_has_a_size_for_each_index(name: str) -> None:
    definition = getattr(linalg_ext.ops, name).definition
    (output,) = definition.outputs
    sizes = [str(size).lower() for size in output.shape]
    assert sizes == list(map(str, definition.assignment_to(output.name).target.indices))


def _is_held(op: StructuredOp) -> bool:
    """Return whether upstream's YAML can hold an op."""
    try:
        to_yaml(op)
    except NotationError:
        return False
    return True


@pytest.mark.parametrize("family", [f for f in FAMILIES if any(map(_is_held, _ops(f).values()))])
def test_upstreams_generator_accepts_the_yaml(family: str, tmp_path: Path) -> None:
    tool = upstream_tool("mlir-linalg-ods-yaml-gen-22")
    declarations, bodies = tmp_path / "x.td", tmp_path / "x.cpp.inc"
    command = [
        str(tool),
        str(FOLDER / f"{family}.yaml"),
        f"-o-ods-decl={declarations}",
        f"-o-impl={bodies}",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    classes = re.findall(r"^def (\w+) : LinalgStructuredBase_Op", declarations.read_text(), re.M)
    held = filter(_is_held, _ops(family).values())
    assert classes == [op.definition.cpp_class_name for op in held]
    assert all(f"{name}::regionBuilder" in bodies.read_text() for name in classes)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_yaml_file_is_in_step(family: str) -> None:
    written = (FOLDER / f"{family}.yaml").read_text(encoding="utf-8")
    assert written == to_yaml(*_ops(family).values(), partial=True), "make yaml"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_yaml_file_says_what_it_leaves_out(family: str) -> None:
    written = (FOLDER / f"{family}.yaml").read_text(encoding="utf-8")
    for name, op in _ops(family).items():
        assert (f"\n  name: {name}\n" in written) == _is_held(op)
        assert (f"\n# {name} " in written) == (not _is_held(op))


def test_upstreams_own_ops_are_held(upstream: Any) -> None:
    assert all(_is_held(getattr(linalg_ext.ops, name)) for name in _upstream_documents(upstream))


def test_every_yaml_file_has_its_family() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.yaml")) == FAMILIES


@pytest.mark.parametrize("family", FAMILIES)
def test_a_family_names_its_ops(family: str) -> None:
    """`__all__` is where the package finds them, and nothing else is public by name."""
    ops = _ops(family)
    assert sorted(_family(family).__all__) == sorted(ops)
    assert all(op.op_name == name for name, op in ops.items())
    assert all(getattr(linalg_ext.ops, name) is op for name, op in ops.items())


def test_no_two_families_define_one_name_and_no_op_has_a_familys_name() -> None:
    names = [name for family in FAMILIES for name in _ops(family)]
    assert len(set(names)) == len(names)
    assert set(names) & set(FAMILIES) == set()
    assert sorted(names) == NAMES


def test_type_checkers_see_every_family() -> None:
    text = (FOLDER / "__init__.py").read_text()
    assert re.findall(r"^    from \.(\w+) import \*$", text, re.M) == FAMILIES


def test_the_generators_classes_differ() -> None:
    classes = [getattr(linalg_ext.ops, name).definition.cpp_class_name for name in NAMES]
    assert len(set(classes)) == len(classes)


@pytest.mark.parametrize("name", NAMES)
def test_the_doc_has_what_a_user_needs(name: str) -> None:
    op = getattr(linalg_ext.ops, name)
    summary, blank, *rest = op.definition.doc.splitlines()
    assert re.fullmatch(r"[A-Z1-3].*[^.]\.", summary), "the first line is one sentence"
    assert ". " not in summary
    assert len(summary) <= 92
    assert blank == ""
    output = op.definition.outputs[0].name
    assert re.match(rf"    {output}(\[.*?\])? \+?=( |$)", rest[0]) or name == "fill_rng_2d"
    heads = [line.partition(":")[0] for line in rest if re.match(r"[A-Z]\w+: ", line)]
    attributes = ["Attributes"] if op.definition.attributes else []
    assert heads == ["Shapes", "Dtypes", *attributes, "Source"]
    text = "\n".join(rest)
    assert all(re.search(rf"\b{operand.name}\b", text) for operand in op.definition.operands)
    assert op.definition.doc.isascii(), "anything else is written as escapes in the YAML"


@pytest.mark.parametrize("name", NAMES)
def test_the_doc_gives_each_operands_shape(name: str) -> None:
    definition = getattr(linalg_ext.ops, name).definition
    text = " ".join(definition.doc.split())
    shapes = text[text.index("Shapes: ") : text.index("Dtypes: ")]
    for operand in definition.operands:
        if not operand.kind.is_tensor or definition.is_rank_polymorphic:
            continue
        written = [
            ", ".join(map(str, operand.shape)),
            # The size of what a window slides over, and of what a transposed one makes.
            ", ".join(
                re.sub(r"S?O?(\w) \* .*|O(\w) \+ .*", r"\1\2", str(s)) for s in operand.shape
            ),
            ", ".join(re.sub(r"\((\w) [+-].*", r"O\1", str(s)) for s in operand.shape),
        ]
        stands = any(f"({sizes})" in shapes.replace("//", "floordiv") for sizes in written)
        assert stands or "the rest (C)" in shapes, f"{operand.name}: {written}"


def test_no_sentence_is_upstreams(upstream: Any) -> None:
    theirs = {
        line.strip() for op in _upstream_ops(upstream) for line in op.metadata.doc.splitlines()
    }
    assert "Fills the output tensor with the given value." in theirs
    same = {
        line.strip()
        for name in NAMES
        for line in getattr(linalg_ext.ops, name).definition.doc.splitlines()
        if len(line.split()) >= 6 and line.strip() in theirs
    }
    assert same == set()


def test_help_shows_the_doc() -> None:
    shown = pydoc.plain(pydoc.render_doc(linalg_ext.ops.matmul))
    assert "C[m, n] += sum over k of A[m, k] * B[k, n]" in shown
    assert "module linalg_ext.opdsl_defs.contraction" in shown


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("matmull", "did you mean matmul?"),
        ("conv2d", "did you mean conv_2d or "),
        ("max_pool", "or pooling_"),
        ("zzz", "dir(linalg_ext.ops) lists them all, by family: activation, "),
    ],
)
def test_an_unknown_name_lists_near_ones(name: str, message: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(linalg_ext.ops, name)
    assert message.removeprefix("or ") in str(raised.value)
    assert not hasattr(linalg_ext.ops, name)


def test_a_family_is_imported_when_it_is_asked_for() -> None:
    program = (
        "import sys, linalg_ext\n"
        "dir(linalg_ext.ops), linalg_ext.ops.max, linalg_ext.ops.unary\n"
        "print(*(m.split('.')[-1] for m in sys.modules if m.startswith('linalg_ext.opdsl_defs.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    families = [name for name in done.stdout.split() if not name.startswith("_")]
    assert sorted(families) == ["elementwise", "unary"]


def test_the_names_of_built_ins_are_ops_here() -> None:
    for name in ("abs", "max", "min", "round"):
        assert isinstance(getattr(linalg_ext.ops, name), StructuredOp)
