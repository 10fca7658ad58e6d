"""Wrong comprehensions: one error, at the user's line, for an index, a reduction, an expression."""

from __future__ import annotations

import pytest

from linalg_ext.opdsl import (
    D,
    ReduceFn,
    S,
    T,
    TensorDef,
    TernaryFn,
    TypeFn,
    U,
    UnaryFn,
    const,
    domain,
    fold,
    index,
    size,
    structured_op,
)
from wrong_definitions import WrongDefinitions

# an operand is declared by a call as a default
# mypy: ignore-errors
# They are wrong on purpose, and a type checker says so of many.

CASES = WrongDefinitions()
wrong = CASES.says


@wrong("dimension k", "not in domain(D.m, D.n)", "add it to domain()")
def dimension_not_in_domain():
    @structured_op
    def op(  # here
        A=TensorDef(T, S.M, S.K), C=TensorDef(T, S.M, S.N, output=True)
    ):
        domain(D.m, D.n)
        C[D.m, D.n] += A[D.m, D.k]


@wrong("dimension z", "in domain()", "nothing is indexed", "remove it")
def unused_dimension_in_domain():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):  # here
        domain(D.m, D.z)
        C[D.m] = A[D.m]


@wrong("domain()", "dimension m twice")
def dimension_twice_in_domain():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):  # here
        domain(D.m, D.m)
        C[D.m] = A[D.m]


@wrong("domain(", "expected dimensions, as in domain(D.m, D.n)")
def symbol_in_domain():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        domain(S.M)  # here
        C[D.m] = A[D.m]


@wrong("A[m]", "1 index", "rank 2", "T(M, N)")
def rank_of_an_input():
    @structured_op
    def op(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):
        C[D.m] += A[D.m]  # here


@wrong("C[m, n]", "2 indices", "rank 1", "T(M)")
def rank_of_an_output():
    @structured_op
    def op(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):
        C[D.m, D.n] = A[D.m, D.n]  # here


@wrong("A[None]", "0 indices", "rank 1", "[None] for rank 0")
def no_index_for_a_vector():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, output=True)):
        C[None] = A[None]  # here


@wrong("drops dimension n", "C[D.m] += ...", "give C the dimension n")
def reduction_without_a_function():
    @structured_op
    def op(A=TensorDef(T, S.M, S.N), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m, D.n]  # here


@wrong("output C", "written as `C[m, n]`", "read as `C[n, m]`")
def output_read_by_another_map():
    @structured_op
    def op(A=TensorDef(T, S.M, S.M), C=TensorDef(T, S.M, S.M, output=True)):
        C[D.m, D.n] = A[D.m, D.n] * C[D.n, D.m]  # here


@wrong("(m) * (n)", "multiplies two dimensions", "affine", "by a symbol")
def product_of_dimensions():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, S.N, output=True)):
        C[D.m, D.n] = A[D.m * D.n]  # here


@wrong("divides by a dimension", "affine")
def quotient_of_dimensions():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, S.N, output=True)):
        C[D.m, D.n] = A[8 // D.n]  # here


@wrong("floordiv 0", "divisor must be positive")
def division_by_zero():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m // 0]  # here


@wrong("1.5 is not an index", "dimensions (D.m)", "[None] for rank 0")
def float_index():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[1.5]  # here


@wrong("0.5 cannot stand in an index", "an integer")
def float_in_an_index():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m * 0.5]  # here


@wrong("slice(None, None, None) is not an index", "a dimension stands for all of an axis")
def slice_index():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[:]  # here


@wrong("TensorDef B is not an index")
def tensor_as_an_index():
    @structured_op
    def op(A=TensorDef(T, S.M), B=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[B]  # here


@wrong("TensorDef A is used as if it were a number", "A[D.m, D.k]")
def missing_index():
    @structured_op
    def op(A=TensorDef(T, S.M), B=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A + B  # here


@wrong("TensorDef B is not an operand of `add`", "index the tensor")
def missing_second_index():
    @structured_op
    def op(A=TensorDef(T, S.M), B=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m] + B  # here


@wrong("the truth of `A[m]` is not known", "TernaryFn.select")
def condition():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m] if A[D.m] else 0  # here


@wrong("truth of `gt(A[m], ", "(x < y) & (y < z)")
def chained_comparison():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = TernaryFn.select(0 < A[D.m] < 1, A[D.m], 0)  # here


@wrong("size(m): not a symbol", "size(S.N)")
def size_of_a_dimension():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m] / TypeFn.cast_signed(T, size(D.m))  # here


@wrong("size(N): N is neither a symbol of a shape nor an index", "S.M")
def size_that_no_operand_has():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m] / TypeFn.cast_signed(T, size(S.N))  # here


@wrong("a fold from init='zero'", "ReduceFn.max")
def fold_from_a_word():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, output=True)):
        C[None] = fold[D.m](A[D.m], init="zero")  # here


@wrong("output V is accessed as V[m] and V[n]", "the indices that it is written with")
def output_read_by_another():
    @structured_op
    def op(
        A=TensorDef(T, S.M, S.M),
        V=TensorDef(T, S.M, output=True),
        W=TensorDef(T, S.M, output=True),
    ):
        V[D.m] = fold[D.n](A[D.m, D.n] - V[D.m], init=0)
        W[D.m] = fold[D.n](W[D.m] - V[D.n], init=0)  # here


@wrong("the index expression `m` is not an operand", "index(D.x)")
def dimension_as_a_number():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m] + D.m  # here


@wrong("exp takes 1 operand, not 2")
def wrong_number_of_operands():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = UnaryFn.exp(A[D.m], A[D.m])  # here


@wrong("UnaryFn has no function 'sinus'", "did you mean UnaryFn.sin?")
def unknown_function():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = UnaryFn.sinus(A[D.m])  # here


@wrong("ReduceFn has no function 'sub'", "max_signed")
def unknown_reduction():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, output=True)):
        C[None] = ReduceFn.sub[D.m](A[D.m])  # here


@wrong("cast_signed got A[m] for a target type", "TypeFn.cast_signed(U, expression)")
def cast_without_a_target():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(U, S.M, output=True)):
        C[D.m] = TypeFn.cast_signed(A[D.m])  # here


@wrong("`C[n - 2]`", "read as", "one step before along one dimension", "lx.loop")
def recurrence_over_two_steps():
    @structured_op
    def op(A=TensorDef(T, S.N), C=TensorDef(T, S.N, output=True)):
        C[D.n] = A[D.n] + C[D.n - 2]  # here


@wrong("`C[m, m]` uses dimension m twice", "diagonal")
def diagonal_target():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, S.M, output=True)):
        C[D.m, D.m] = A[D.m]  # here


@wrong("dimension m is reduced", "`C[m]` is indexed by it", "remove D.m")
def reducing_a_written_dimension():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = ReduceFn.add[D.m](A[D.m])  # here


@wrong("a reduction over 'm'", "ReduceFn.add[D.k]")
def reducing_a_name():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, output=True)):
        C[None] = ReduceFn.add["m"](A[D.m])  # here


@wrong("a reduction by add", "inside a larger expression", "an op of its own")
def arithmetic_on_a_reduction():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, output=True)):
        C[None] = ReduceFn.add[D.m](A[D.m]) * 2  # here


@wrong("neither reads nor reduces dimension n", "ReduceFn.add[D.n]")
def dimension_of_a_shape_alone():
    @structured_op
    def op(
        A=TensorDef(T, S.M),
        K=TensorDef(T, S.N, index_dims=[D.n]),
        C=TensorDef(T, S.M, output=True),
    ):
        C[D.m] = A[D.m]  # here


@wrong("index(z)", "not a dimension of the iteration space", "D.m")
def index_of_an_unknown_dimension():
    @structured_op
    def op(A=TensorDef(T, S.M), C=TensorDef(T, S.M, output=True)):
        C[D.m] = A[D.m] * TypeFn.cast_signed(T, index(D.z))  # here


@wrong("index(S.M)", "index(D.m)")
def index_of_a_symbol():
    index(S.M)  # here


@wrong("const('1')", "an int or a float")
def constant_of_a_string():
    const("1")  # here


@wrong("const(9223372036854775808)", "64 bits")
def constant_too_large():
    const(2**63)  # here


@pytest.mark.parametrize("name", CASES)
def test_wrong_comprehension(name: str) -> None:
    CASES.check(name)
