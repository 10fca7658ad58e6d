"""The loops of machine code, and the hot one: the innermost with the most arithmetic on vectors."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

_LINE = re.compile(r"^\s*([0-9a-f]+)  (\S+)\s*(.*?)(?:\s+;.*)?$")
_BRANCH = re.compile(r"j\w+|b(?:\.\w+)?|cbn?z|tbn?z")
_TARGET = re.compile(r"#?0x([0-9a-f]+)$")
_FUSED = re.compile(
    r"vfn?m(?:add|sub)|vdpbf16|vpdpbus|vpdpwss|fml[as]|fn?m(?:add|sub)$|[us]dot|bfdot"
)
_VECTOR = re.compile(r"\b(?:[xyz]mm\d+|v\d+\.\d*[bhsd]|q\d+)\b")
_MEMORY = re.compile(r"(?<!\w)\[(.*?)\]")
_STORE = ("vmov", "mov", "vextract", "vcvt", "st", "vscatter")


@dataclass(frozen=True)
class Instruction:
    """One line of a disassembly.

    Attributes:
        line: its number in the text, from 0.
        address: its address in the code.
        name, operands: its mnemonic, and the rest of the line.
    """

    line: int
    address: int
    name: str
    operands: str

    @property
    def is_on_vectors(self) -> bool:
        """Return whether it names a vector register."""
        return _VECTOR.search(self.operands) is not None

    @property
    def memory(self) -> str | None:
        """Return its memory operand, if it has one."""
        match = _MEMORY.search(self.operands)
        return match[1] if match else None

    @property
    def is_store(self) -> bool:
        """Return whether it writes to memory."""
        first = self.operands.partition(",")[0]
        return self.name.startswith(_STORE) and ("[" in first or self.name.startswith("st"))

    @property
    def target(self) -> int | None:
        """Return the address that it may branch to."""
        match = _TARGET.search(self.operands) if _BRANCH.fullmatch(self.name) else None
        return int(match[1], 16) if match else None


@dataclass(frozen=True)
class Loop:
    """One round of a loop.

    Attributes:
        instructions: in all.
        vectors: those on vector registers.
        fused: multiply-adds, dot products among them.
        loads: vector instructions that read memory, stack aside.
        stores: those that write it.
        spills: vector instructions that read or write the stack.
        gathers: loads of scattered elements.
        calls: of functions.
    """

    instructions: int
    vectors: int
    fused: int
    loads: int
    stores: int
    spills: int
    gathers: int
    calls: int

    @property
    def overhead(self) -> float:
        """Return instructions per multiply-add, or per vector instruction if there is none."""
        return self.instructions / max(1, self.fused or self.vectors)

    def __str__(self) -> str:
        names = {"vectors": "on vectors", "fused": "multiply-adds"}
        counts = ((names.get(name, name), count) for name, count in asdict(self).items())
        return ", ".join(f"{count} {name}" for name, count in counts if count)


def instructions_of(assembly: str) -> list[Instruction]:
    """Return the instructions of a function, as `Kernel.asm` shows it."""
    matches = ((n, _LINE.match(line)) for n, line in enumerate(assembly.splitlines()))
    return [Instruction(n, int(m[1], 16), m[2], m[3]) for n, m in matches if m]


def innermost_loops(code: Sequence[Instruction]) -> Iterator[Sequence[Instruction]]:
    """Yield the code from the target of a backward branch to the branch, without loops inside."""
    numbers = {instruction.address: number for number, instruction in enumerate(code)}
    stretches = []
    for number, instruction in enumerate(code):
        target = instruction.target
        start = number + 1 if target is None else numbers.get(target, number + 1)
        if start <= number:
            stretches.append((start, number))
    for start, end in stretches:
        if not any((start, end) != (s, e) and start <= s and e <= end for s, e in stretches):
            yield code[start : end + 1]


def count(loop: Sequence[Instruction]) -> Loop:
    """Count the instructions of a stretch of code, by kind."""
    vectors = [instruction for instruction in loop if instruction.is_on_vectors]
    touching = [instruction for instruction in vectors if instruction.memory is not None]
    on_stack = [
        instruction
        for instruction in touching
        if re.match(r"r[sb]p\b|sp\b", instruction.memory or "")
    ]
    outside = [instruction for instruction in touching if instruction not in on_stack]
    return Loop(
        instructions=len(loop),
        vectors=len(vectors),
        fused=sum(_FUSED.match(instruction.name) is not None for instruction in loop),
        loads=sum(not instruction.is_store for instruction in outside),
        stores=sum(instruction.is_store for instruction in outside),
        spills=len(on_stack),
        gathers=sum("gather" in instruction.name for instruction in loop),
        calls=sum(instruction.name in ("call", "bl", "blr") for instruction in loop),
    )


def hot_loop(assembly: str) -> tuple[range, Loop] | None:
    """Return the lines of the hot loop of an assembly text, and the counts of one round.

    The hot loop is the innermost one with the most multiply-adds, or else with the most vector
    instructions. None if the code has no loop.

    Args:
        assembly: the text of `Kernel.asm`: functions, with an empty line after each.
    """
    loops = []
    first = 0
    for function in assembly.split("\n\n"):
        for loop in innermost_loops(instructions_of(function)):
            loops.append((range(first + loop[0].line, first + loop[-1].line + 1), count(loop)))
        first += function.count("\n") + 2
    if not loops:
        return None
    return max(loops, key=lambda item: (item[1].fused, item[1].vectors, -item[1].instructions))
