"""The properties of a machine that the code generator needs: registers, caches, dot products.

A word of 32 bits holds neighbours along the depth, two of 16 bits or four of 8, and each lane of
the accumulator adds the products of two words. Elements of other signs than the instruction's are
shifted, and sums that packing computes correct the result:

    a, b      flipped to            and then
    s8, s8    a' = a + 128, a u8    sum(a * b) = sum(a' * b) - 128 * sum(b)
    u8, u8    a' = a - 128, a s8    sum(a * b) = sum(a' * b) + 128 * sum(b)

Integers are exact, modulo 2^32 as the definition has it. Products of bf16 are exact as well and
their sums are of f32, in another order than that of the loops; but the instruction of AVX-512 takes
subnormal operands for zeros, and gives zeros for subnormal results.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from linalg_ext.target import DotProduct, Target, current

from .writer import Writer


@dataclass(frozen=True)
class Machine:
    """The registers and caches of one core.

    Attributes:
        vector_bytes: the width of a vector register.
        vector_registers: how many there are.
        l1_bytes: the first level of the cache.
        l1_ways: the lines of it in one set: addresses a multiple of `l1_bytes / l1_ways` apart.
        l2_bytes: the second level.
        l3_bytes: the last level, which the cores may share.
        has_fma: True where it multiplies and adds in one instruction; else that would be a call.
        dots: its instructions for products of narrow elements, those of most products first.
        fma_units: how many multiply-adds it begins in a cycle.
        fma_latency: cycles until the result of one can be used.
    """

    vector_bytes: int
    vector_registers: int
    l1_bytes: int = 32 << 10
    l1_ways: int = 8
    l2_bytes: int = 1 << 20
    l3_bytes: int = 16 << 20
    has_fma: bool = True
    dots: tuple[Dot, ...] = ()
    fma_units: int = 2
    fma_latency: int = 4

    @classmethod
    def of(cls, target: Target) -> Machine:
        """Return one core of a target."""
        return cls(
            vector_bytes=target.vector_bits // 8,
            vector_registers=target.vector_registers,
            l1_bytes=target.cache(1).size,
            l1_ways=target.cache(1).associativity,
            l2_bytes=target.cache(2).size,
            l3_bytes=target.cache(3).size,
            has_fma=target.has_fma,
            dots=dots_of(target),
            fma_units=target.fma_units,
            fma_latency=target.fma_latency,
        )

    def beside(self, cores: int) -> Machine:
        """Return one of `cores` cores that work at once, with its part of the last cache."""
        return replace(self, l3_bytes=self.l3_bytes // cores)


def this_machine() -> Machine:
    """Return one core of the target in force."""
    return Machine.of(current())


@dataclass(frozen=True)
class Dot:
    """An instruction, as a contraction uses it.

    Attributes:
        function: LLVM's name of it.
        element: the type of the elements of a word, as MLIR spells it.
        count: the number of elements of a word.
        lanes: the number of words of a vector.
        accumulator: the type of the sums.
        adds: whether it adds to an accumulator; else that is an op of its own.
        left, right: the types of its factors: `bf16`, `u8`, `s8`, `s16`.
        reversed: whether B is on its left.
        shift: the number that is added to each element of A before it is packed.
    """

    function: str
    element: str
    count: int
    lanes: int
    accumulator: str
    adds: bool
    left: str
    right: str
    reversed: bool = False
    shift: int = 0

    @property
    def bits(self) -> int:
        """The width of an element."""
        return 32 // self.count

    @property
    def registers(self) -> int:
        """The number of registers that it can address: at 256 bits, those of AVX alone."""
        return 16 if self.lanes == 8 else 32

    @property
    def sums(self) -> str:
        """The type of a vector of sums."""
        return f"vector<{self.lanes}x{self.accumulator}>"

    @property
    def words(self) -> str:
        """The type of a vector of words."""
        return f"vector<{self.lanes}xi32>"

    @property
    def elements(self) -> str:
        """The type of a vector of words, seen as elements."""
        return f"vector<{self.lanes * self.count}x{self.element}>"

    @property
    def _types(self) -> str:
        types = [self.sums] * self.adds + [self.elements, self.elements]
        return f"({', '.join(types)}) -> {self.sums}"

    @property
    def declaration(self) -> str:
        """The function that is the instruction."""
        return f"func.func private @{self.function}{self._types}"

    def as_elements(self, w: Writer, words: str) -> str:
        """Return a vector of words as the elements that the instruction takes."""
        return w.op(f"vector.bitcast {words} : {self.words} to {self.elements}")

    def multiply_add(self, w: Writer, a: str, b: str, total: str) -> str:
        """Write the sums of a total and the products of two vectors of elements."""
        factors = (b, a) if self.reversed else (a, b)
        operands = ", ".join([total, *factors] if self.adds else factors)
        products = w.op(f"func.call @{self.function}({operands}) : {self._types}")
        if self.adds:
            return products
        return w.op(f"arith.addi {total}, {products} : {self.sums}")

    def all_ones(self, w: Writer) -> str:
        """Return a vector of elements that are 1, for either operand."""
        return w.constant("dense<1>", self.elements)


def dots_of(target: Target) -> tuple[Dot, ...]:
    """The instructions of a target, those that multiply most first."""
    dots = [_dot(instruction) for instruction in target.dot_products if instruction.intrinsic]
    dots += [dot for feature, dot in _PAIRS.items() if feature in target.features]
    # An instruction that adds comes before one that multiplies as much and does not add.
    return tuple(sorted(dots, key=lambda dot: (-dot.lanes * dot.count, not dot.adds)))


def choose_dot(dots: tuple[Dot, ...], a: str, b: str, accumulator: str) -> Dot | None:
    """Return the first instruction for factors of types, `u8` or `bf16` say, and a type of sums."""
    fitting = (_fitted(dot, a, b) for dot in dots if dot.accumulator == accumulator)
    return next((dot for dot in fitting if dot is not None), None)


def _fitted(dot: Dot, a: str, b: str) -> Dot | None:
    if (a, b) == (dot.left, dot.right):
        return dot
    if (b, a) == (dot.left, dot.right):
        return replace(dot, reversed=True)
    if dot.left == dot.right == "s16":
        return dot if {a, b} <= {"u8", "s8", "s16"} else None
    if (dot.left, dot.right) != ("u8", "s8"):
        return None
    if a == b == "s8":
        return replace(dot, shift=128)
    if a == b == "u8":
        return replace(dot, reversed=True, shift=-128)
    return None


def _dot(instruction: DotProduct) -> Dot:
    element = instruction.left if instruction.left == "bf16" else f"i{instruction.left[1:]}"
    lanes = instruction.bits // 32
    return Dot(
        instruction.intrinsic,
        element,
        instruction.depth,
        lanes,
        instruction.accumulator,
        True,
        instruction.left,
        instruction.right,
    )


_PAIRS = {
    "avx512bw": Dot(
        "llvm.x86.avx512.pmaddw.d.512", "i16", 2, 16, "i32", adds=False, left="s16", right="s16"
    ),
    "avx2": Dot("llvm.x86.avx2.pmadd.wd", "i16", 2, 8, "i32", adds=False, left="s16", right="s16"),
}
"""Products of pairs of 16 bits, with sums that are added by another instruction."""
