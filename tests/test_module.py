"""`Module`: parsing, showing, verifying, swapping."""

from __future__ import annotations

from pathlib import Path

import pytest

from linalg_ext.bindings import ir
from linalg_ext.errors import ArgumentError, ParseError, VerificationError
from linalg_ext.module import Module, as_module

TEXT = "func.func @f(%a: i32) -> i32 {\n  return %a : i32\n}\nfunc.func private @g()\n"


def test_shows_its_functions_and_its_text():
    module = Module.parse(TEXT)
    assert dict(module.functions) == {"f": "(i32) -> i32", "g": "() -> ()"}
    assert "func.func @f" in str(module)
    assert repr(module) == (
        "Module -: 2 top-level ops, 2 functions\n  @f  (i32) -> i32\n  @g  () -> ()"
    )


def test_every_module_has_a_context_of_its_own():
    assert Module.parse(TEXT).context is not Module.parse(TEXT).context


def test_clone_and_swap_keep_attributes_and_contents():
    module = Module.parse("module @m attributes {a.b = 1 : i32} {\n" + TEXT + "}", trusted=True)
    assert str(module.clone()) == str(module)
    other = module.clone()
    other.ir.operation.attributes["a.c"] = other.ir.operation.attributes["a.b"]
    del other.ir.operation.attributes["a.b"]
    module.swap(other)
    assert "a.c" in str(module)
    assert "a.b" not in str(module)


def test_swap_into_a_raw_module_keeps_the_object():
    raw = Module.parse(TEXT).ir
    wrapped = Module.of(raw)
    new = wrapped.clone()
    new.ir.operation.attributes["a.b"] = ir.StringAttr.get("x", raw.context)
    wrapped.swap(new)
    assert wrapped.ir is raw
    assert 'a.b = "x"' in str(raw)
    with pytest.raises(ArgumentError, match="another context"):
        wrapped.swap(Module.parse(TEXT))


def test_bytecode_round_trip_keeps_locations():
    module = Module.parse(TEXT)
    again = module.successor(module.bytecode())
    assert again.context is module.context
    assert again.ir.operation.get_asm(enable_debug_info=True) == (
        module.ir.operation.get_asm(enable_debug_info=True)
    )
    assert str(Module.parse(module.bytecode())) == str(module)


@pytest.mark.parametrize("trusted", [True, False])
class TestWrongText:
    def test_a_syntax_error_points_at_its_line(self, trusted):
        with pytest.raises(ParseError) as caught:
            Module.parse("module {\n  func.func @f( {\n}", trusted=trusted, filename="model.mlir")
        assert str(caught.value).splitlines() == [
            "expected non-function type",
            "  model.mlir:2:16:",
            "      func.func @f( {",
            "                   ^",
            "  model.mlir:2:16: error: expected non-function type",
            "  see docs: errors/ParseError",
        ]
        assert caught.value.diagnostics

    def test_a_broken_rule_is_a_verification_error_with_its_notes(self, trusted):
        with pytest.raises(VerificationError, match="has 0 operands") as caught:
            Module.parse("func.func @f() -> i32 { return }", trusted=trusted)
        assert "see current operation" in str(caught.value)

    def test_an_unknown_dialect(self, trusted):
        text = '"foo.x"() : () -> ()'
        with pytest.raises(ParseError, match="unregistered dialect"):
            Module.parse(text, trusted=trusted)
        assert "foo.x" in str(Module.parse(text, trusted=trusted, allow_unregistered=True))

    def test_nothing_and_garbage(self, trusted):
        assert Module.parse("", trusted=trusted).functions == {}
        with pytest.raises(ParseError):
            Module.parse(b"\xff\xfe", trusted=trusted)
        with pytest.raises(ParseError, match="UTF-8"):
            Module.parse("\ud800", trusted=trusted)
        with pytest.raises(ParseError):
            Module.parse(b"ML\xefR\x01garbage", trusted=trusted)

    @pytest.mark.parametrize("bad", [None, 3, [], {}, object()])
    def test_what_is_no_text(self, trusted, bad):
        with pytest.raises(ArgumentError, match="is not MLIR text"):
            Module.parse(bad, trusted=trusted)


def test_a_long_line_is_cut_around_the_column():
    text = "func.func @f() { " + "func.call @g() : () -> () " * 50 + "nonsense }"
    with pytest.raises(ParseError) as caught:
        Module.parse(text)
    shown, caret = str(caught.value).splitlines()[2:4]
    assert len(shown) < 140
    assert shown[caret.index("^") :].startswith("}") or "nonsense" in shown


def test_of():
    module = Module.parse(TEXT)
    assert as_module(module) is module
    assert as_module(TEXT).functions
    assert as_module(module.ir).ir is module.ir
    with pytest.raises(ArgumentError, match=r"func\.func is not a module"):
        as_module(module.ir.body.operations[0])
    with pytest.raises(ArgumentError, match=r"ir\.Module itself"):
        as_module(module.ir.operation)


def test_verify_finds_what_a_caller_broke():
    module = Module.parse(TEXT)
    module.verify()
    block = module.ir.body.operations[0].operation.regions[0].blocks[0]
    block.operations[0].operation.erase()
    with pytest.raises(VerificationError, match="invalid after me"):
        module.verify(after="me")


def test_a_file_name_is_no_text() -> None:
    with pytest.raises(ParseError, match=r"is the name of a file(.|\n)*read_text"):
        Module.parse("model.mlir")
    with pytest.raises(ArgumentError, match="read_text"):
        Module.parse(Path("model.mlir"))  # type: ignore[arg-type]


def test_the_cure_for_unknown_dialects_is_ours() -> None:
    with pytest.raises(ParseError) as caught:
        Module.parse('"lx.unknown"() : () -> ()')
    assert "allow_unregistered=True" in str(caught.value.hint)


@pytest.mark.parametrize(("name", "op"), [(b"named", "func.func"), (b"other", "func.call")])
def test_names_in_bytecode_are_text(name: bytes, op: str) -> None:
    bytecode = Module.parse(
        """
        func.func @named(%a: f32) -> f32 {
          %r = func.call @other(%a) : (f32) -> f32
          return %r : f32
        }
        func.func private @other(%a: f32) -> f32 { return %a : f32 }"""
    ).bytecode()
    with pytest.raises(
        ParseError, match=f"{op} has, or uses, is not text: its bytes are not UTF-8"
    ):
        Module.parse(bytecode.replace(name, b"\xff" + name[1:]))


def test_names_in_text_are_text() -> None:
    with pytest.raises(ParseError, match="is not text"):
        Module.parse('func.func @"\\FF"() { return }')
    assert dict(Module.parse('func.func @"a\\22"() { return }').functions) == {'a"': "() -> ()"}
