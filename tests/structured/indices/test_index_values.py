"""Numbers emitted as index values and read back: the same numbers, and right when they run."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

import linalg_ext as lx
from linalg_ext.bindings import func, ir
from linalg_ext.errors import ArgumentError
from linalg_ext.ir.context import new_context
from linalg_ext.structured.indices import Emitter, IndexReader
from linalg_ext.symbolic.integers import (
    Expression,
    Number,
    Symbol,
    Truth,
    all_of,
    any_of,
    at_most,
    ceildiv,
    different,
    equal,
    evaluate,
    holds,
    is_eq,
    is_le,
    lower,
    maximum,
    minimum,
    select,
    symbols_of,
    upper,
)

Make = Callable[..., Number]

NUMBERS: dict[str, Make] = {
    "constant": lambda i, n, k: 7,
    "itself": lambda i, n, k: i.number,
    "linear": lambda i, n, k: 4 * i - n + 3,
    "remainder of a loop": lambda i, n, k: minimum(4, n - i),
    "clamped": lambda i, n, k: maximum(0, minimum(k, n - 1)),
    "nested": lambda i, n, k: 2 * minimum(maximum(k, i) + 1, n) - k,
    "quotients": lambda i, n, k: k // 3 + (i + k) // 4 + ceildiv(k, 4),
    "remainders": lambda i, n, k: k % 3 + (2 * k - i) % 5,
    "by a value": lambda i, n, k: k // n + i // n,
    "rest by a value": lambda i, n, k: k % n + i % n,
    "product": lambda i, n, k: i * n * k + k * 2,
    "of a minimum": lambda i, n, k: minimum(i, k) * n // 2,
    "selection": lambda i, n, k: select(equal(n, 1), 0, k) + select(at_most(k, i), 2 * i, n),
}
TRUTHS: dict[str, Callable[..., Truth]] = {
    "at most": lambda i, n, k: at_most(k + 3, 2 * i),
    "equal": lambda i, n, k: equal(k, i),
    "all": lambda i, n, k: all_of(different(k, 0), at_most(k, n), at_most(0, k)),
    "any": lambda i, n, k: any_of(equal(n, 1), equal(k, i - 4)),
    "known": lambda i, n, k: True,
}


def _symbols(values: Sequence[ir.Value]) -> tuple[Symbol, Symbol, Symbol]:
    i, n, k = values
    return Symbol(i, 0), Symbol(n, 1), Symbol(k)


@pytest.fixture(scope="module")
def built() -> tuple[str, dict[str, tuple[tuple[int, ...], ...]]]:
    """A function of all the numbers as IR; as a text, with what each reads back as."""
    with new_context(), ir.Location.unknown():
        module = ir.Module.create()
        index, i1 = ir.IndexType.get(), ir.IntegerType.get_signless(1)
        results = [index] * len(NUMBERS) + [i1] * len(TRUTHS)
        with ir.InsertionPoint(module.body):
            function = func.FuncOp("main", ([index] * 3, results))
            block = function.add_entry_block()
            symbols, emit = _symbols(block.arguments), Emitter()
            with ir.InsertionPoint(block):
                values = [emit.value(make(*symbols)) for make in NUMBERS.values()]
                values += [emit.truth(make(*symbols)) for make in TRUTHS.values()]
                func.ReturnOp(values)
        assert module.operation.verify()
        read = IndexReader(dict(zip(block.arguments, symbols, strict=True)))
        found = {}
        for name, value in zip(NUMBERS, values, strict=False):
            wanted, number = NUMBERS[name](*symbols), read(value)
            arguments = {symbol.key for symbol in symbols_of(number)}
            assert arguments <= set(block.arguments), f"{name}: {number}"
            assignments = [
                dict(zip(block.arguments, sizes, strict=True)) for sizes in _assignments()
            ]
            found[name] = tuple(
                tuple(evaluate(each, values) for values in assignments) for each in (wanted, number)
            )
        return str(module), found


def _assignments() -> list[tuple[int, int, int]]:
    return [(0, 1, 0), (3, 8, -5), (4, 5, 9), (8, 3, -1), (2, 9, 2), (6, 6, 2)]


@pytest.mark.parametrize("name", NUMBERS)
def test_what_is_emitted_is_read_back(
    name: str, built: tuple[str, dict[str, tuple[tuple[int, ...], ...]]]
) -> None:
    wanted, found = built[1][name]
    assert found == wanted


def test_what_is_emitted_computes_the_numbers(
    built: tuple[str, dict[str, tuple[tuple[int, ...], ...]]],
) -> None:
    kernel = lx.compile(built[0])
    for values in _assignments():
        i, n, k = Symbol("i", 0), Symbol("n", 1), Symbol("k")
        known = dict(zip("ink", values, strict=True))
        expected = [evaluate(make(i, n, k), known) for make in NUMBERS.values()]
        expected += [holds(make(i, n, k), known) for make in TRUTHS.values()]
        assert [int(each) for each in kernel(*values)] == expected


def test_it_is_upstreams_form_that_is_emitted(
    built: tuple[str, dict[str, tuple[tuple[int, ...], ...]]],
) -> None:
    text = built[0]
    assert "affine_map<(d0, d1) -> (4, d0 - d1)>" in text
    assert text.count("affine.min") == text.count("affine.max") + 2
    assert text.count("arith.constant 7 : index") == 1
    # Sums before minima are inside their maps; no value has two ops.
    assert text.count("arith.addi") == text.count("arith.subi") == 0
    lines = [line.partition("= ")[2] for line in text.splitlines() if "= affine" in line]
    assert len(lines) == len(set(lines))


def test_known_numbers_stay_integers_in_mixed_lists() -> None:
    with new_context(), ir.Location.unknown():
        module = ir.Module.parse("func.func @f(%n: index) { return }")
        block = module.body.operations[0].regions[0].blocks[0]
        (n,) = block.arguments
        with ir.InsertionPoint.at_block_begin(block):
            assert Emitter({"n": n}).mixed([4, Symbol("n"), 0]) == [4, n, 0]
            with pytest.raises(ArgumentError, match="symbol m stands for no value"):
                Emitter().value(Symbol("m") + 1)


def _read(body: str) -> Number:
    """The number that the operand of the one "use" in a function's body stands for."""
    text = f"func.func @f(%n: index, %t: tensor<4x?xf32>) {{\n{body}\nreturn }}"
    context = new_context(allow_unregistered=True)
    module = ir.Module.parse(text, context)
    found: list[ir.Value] = []

    def look(op: ir.Operation) -> ir.WalkResult:
        if op.name == "test.use":
            found.extend(op.operands)
        return ir.WalkResult.ADVANCE

    module.operation.walk(look)
    (value,) = found
    return IndexReader()(value)


CONSTANTS = "\n".join(f"%c{n} = arith.constant {n} : index" for n in (0, 1, 4, 40, 80))


@pytest.mark.parametrize(
    ("body", "bounds"),
    [
        ('scf.for %i = %c0 to %c80 step %c4 { "test.use"(%i) : (index) -> () }', (0, 76)),
        (
            'scf.forall (%i, %j) = (0, 2) to (%n, 40) step (4, 8) { "test.use"(%j) '
            ": (index) -> () }",
            (2, 34),
        ),
        (
            'scf.parallel (%i) = (%c4) to (%c80) step (%c40) { "test.use"(%i) : (index) -> () }',
            (4, 44),
        ),
        ('scf.for %i = %c0 to %n step %c4 { "test.use"(%i) : (index) -> () }', (0, None)),
        (
            "scf.for %i = %c0 to %c80 step %c4 { scf.for %j = %i to %c80 step %c1 { "
            '%d = arith.subi %j, %i : index "test.use"(%d) : (index) -> () } }',
            (0, 79),
        ),
        (
            "scf.for %i = %c0 to %n step %c4 { "
            "%s = affine.min affine_map<(d0)[s0] -> (4, s0 - d0)>(%i)[%n] "
            '"test.use"(%s) : (index) -> () }',
            (1, 4),
        ),
        ('%d = tensor.dim %t, %c0 : tensor<4x?xf32> "test.use"(%d) : (index) -> ()', (4, 4)),
        ('%d = tensor.dim %t, %c1 : tensor<4x?xf32> "test.use"(%d) : (index) -> ()', (0, None)),
        ('"test.use"(%n) : (index) -> ()', (None, None)),
        # What is not the same without signs, or may divide by 0, is not looked into.
        ('%d = arith.divui %n, %c4 : index "test.use"(%d) : (index) -> ()', (None, None)),
        ('%d = arith.remsi %n, %c4 : index "test.use"(%d) : (index) -> ()', (None, None)),
        ('%d = arith.floordivsi %n, %c0 : index "test.use"(%d) : (index) -> ()', (None, None)),
        ('%d = arith.minui %n, %c4 : index "test.use"(%d) : (index) -> ()', (None, None)),
    ],
)
def test_what_ir_says_of_an_index_is_known(body: str, bounds: tuple[object, object]) -> None:
    number = _read(f"{CONSTANTS}\n{body}")
    assert (lower(number), upper(number)) == bounds


def test_a_tile_at_an_induction_variable_ends_inside() -> None:
    number = _read(
        f"{CONSTANTS}\nscf.for %i = %c0 to %n step %c4 {{"
        "%s = affine.min affine_map<(d0)[s0] -> (4, s0 - d0)>(%i)[%n] "
        '%e = arith.addi %i, %s : index %r = arith.subi %n, %e : index "test.use"(%r)'
        " : (index) -> () }"
    )
    assert is_le(0, number) is True


def test_a_long_chain_is_read_as_far_as_it_is_safe() -> None:
    lines = ["%x0 = arith.addi %n, %n : index"]
    lines += [f"%x{at} = arith.addi %x{at - 1}, %n : index" for at in range(1, 3000)]
    number = _read("\n".join([*lines, '"test.use"(%x2999) : (index) -> ()']))
    assert isinstance(number, Expression)
    assert is_eq(number, 0) is None
