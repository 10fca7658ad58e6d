"""`library`: native functions that take the place of ops.

    with lx.library("mine", "libmine.so", {
        "pointwise_add": "add(memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)",
        lx.ops.matmul: "gemm(memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)",
    }):
        kernel = lx.compile(module)       # ops with library_call = "pointwise_add", and matmuls

A kernel that is compiled while a library is registered calls it, and still does after it is closed.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NoReturn, TypeAlias

import numpy as np

from linalg_ext import opdsl_defs
from linalg_ext.definition.model import OpDefinition
from linalg_ext.errors import LibraryError, UnresolvedSymbolError, counted, refuse_pickling
from linalg_ext.executable.libraries.prototype import Gemm, Prototype, gemm
from linalg_ext.opdsl import StructuredOp
from linalg_ext.runtime import libraries
from linalg_ext.runtime.libraries import address_in, file_of_address, load_libraries

Op: TypeAlias = str | StructuredOp
FunctionText: TypeAlias = str | Prototype
FunctionTexts: TypeAlias = FunctionText | Sequence[FunctionText]
Functions: TypeAlias = Mapping[Any, FunctionTexts]
"""Functions by `Op`; as the key type, `Op` would exclude mappings of names or of ops alone."""
Key: TypeAlias = str | OpDefinition


def read_table(functions: Functions) -> dict[Key, tuple[Prototype, ...]]:
    """Return the functions by the names that ops may ask for, or by the definitions of ops."""
    if not isinstance(functions, Mapping) or not functions:
        raise LibraryError(
            f"{functions!r} names no functions",
            expected='a dict of them: {"add": "add(memref<?xf32>, memref<?xf32>)"}',
        )
    table = {_key(op): _functions(op, value) for op, value in functions.items()}
    _check_symbols([function for prototypes in table.values() for function in prototypes])
    return table


def _key(op: Op) -> Key:
    if isinstance(op, StructuredOp):
        return op.definition
    if not isinstance(op, str) or not op:
        raise LibraryError(
            f"{op!r} is not an op",
            expected='the text of a library_call, an op of lx.ops, or its name: "linalg.matmul"',
        )
    if not op.startswith("linalg."):
        return op
    name = op.removeprefix("linalg.")
    op_of_library = getattr(opdsl_defs, name, None) if name in dir(opdsl_defs) else None
    if not isinstance(op_of_library, StructuredOp):
        near = get_close_matches(name, dir(opdsl_defs), n=1)
        raise LibraryError(
            f"{op!r} is not an op of the library",
            hint=f"did you mean 'linalg.{near[0]}'?" if near else "see dir(lx.ops)",
        )
    return op_of_library.definition


def op_named(key: str, functions: Sequence[Prototype]) -> OpDefinition | None:
    """Return the op of `lx.ops` that a key may mean, if the functions take its operands."""
    op = getattr(opdsl_defs, key, None) if key in dir(opdsl_defs) else None
    if not isinstance(op, StructuredOp):
        return None
    definition = op.definition
    count = len(definition.inputs) + len(definition.outputs)
    fits = all(len(function.operands) == count for function in functions)
    return definition if fits else None


def _functions(op: Op, value: FunctionTexts) -> tuple[Prototype, ...]:
    items = value if isinstance(value, list | tuple) else [value]
    functions = tuple(_function(op, item) for item in items)
    if not functions:
        raise LibraryError(
            f"the list of functions for {_shown(op)} is empty", expected="one or several"
        )
    return functions


def _function(op: Op, item: object) -> Prototype:
    function = Prototype.parse(item) if isinstance(item, str) else item
    if not isinstance(function, Prototype):
        raise LibraryError(
            f"{item!r} is not a function for {_shown(op)}",
            expected="a name and its parameters: `add(memref<?x?xf32>, memref<?x?xf32>)`",
        )
    definition = _key(op)
    is_matmul = isinstance(definition, OpDefinition) and definition.name == "matmul"
    if isinstance(function, Gemm) and not is_matmul:
        raise LibraryError(
            f"`{function.symbol}` multiplies matrices, and {_shown(op)} may be anything",
            hint='register it for "linalg.matmul"',
        )
    if isinstance(definition, OpDefinition):
        count = len(definition.inputs) + len(definition.outputs)
        if len(function.operands) != count:
            raise LibraryError(
                f"`{function}` takes {counted(len(function.operands), 'operand')}, and "
                f"{_shown(op)} has {count}",
                expected="one for each input, then one for each output",
            )
    return function


def _check_symbols(functions: Sequence[Prototype]) -> None:
    known: dict[str, Prototype] = {}
    for function in functions:
        other = known.setdefault(function.symbol, function)
        if other != function:
            raise LibraryError(
                f"`{function.symbol}` has two prototypes: `{other}` and `{function}`",
                expected="one prototype for one function",
            )


def _shown(op: Op) -> str:
    return f"`{op if isinstance(op, str) else op.op_name}`"


SYMBOL = "lx.library."
"""The prefix of the name by which compiled code knows a native function."""

_INTERFACE = "_mlir_ciface_"
"""Put by upstream before the name of a function that takes pointers to descriptors."""


@dataclass(frozen=True)
class NativeFunction:
    """A function of a registered library; compiled code knows it by its symbol."""

    library: str
    function: Prototype
    symbol: str
    file: str

    @property
    def linked_name(self) -> str:
        """The name of the function in object code."""
        return _INTERFACE + self.symbol


class Library:
    """A registered library: close it, or use it in a `with` block.

    Attributes:
        name: its name.
        file: of its code; empty if unknown.
        fingerprint: its part in the keys of caches that outlive the process: a hash of the file's
            path, size and age, and of the functions.
        addresses: of its functions, by the names by which object code knows them.
        calls: the functions for ops that name one, by that name.
        ops: the functions for ops that compute something, by its definition.
        named: the keys of `calls` that are names of ops of `lx.ops`, by their definitions.
    """

    def __init__(self, name: str, where: str | Path | ctypes.CDLL, functions: Functions) -> None:
        """Made by `library`."""
        _check_name(name)
        self.name = name
        self._handle = _opened(where)
        read = read_table(functions)
        addresses = self._addresses([prototype for group in read.values() for prototype in group])
        self.file = file_of_address(next(iter(addresses.values())))
        self.fingerprint = _fingerprint(name, self.file, read)
        natives = {
            function: NativeFunction(name, function, self._symbol(function.symbol), self.file)
            for function in addresses
        }
        self.addresses: Mapping[str, int] = {
            natives[prototype].linked_name: address for prototype, address in addresses.items()
        }
        table = {
            key: tuple(natives[prototype] for prototype in group) for key, group in read.items()
        }
        self.calls: Mapping[str, tuple[NativeFunction, ...]] = MappingProxyType(
            {key: group for key, group in table.items() if isinstance(key, str)}
        )
        self.ops: Mapping[OpDefinition, tuple[NativeFunction, ...]] = MappingProxyType(
            {key: group for key, group in table.items() if isinstance(key, OpDefinition)}
        )
        self.named: Mapping[OpDefinition, str] = MappingProxyType(
            {op: key for key in self.calls if (op := op_named(key, read[key])) is not None}
        )

    def declared(self, name: str) -> tuple[NativeFunction, ...]:
        """Return its functions of a name that a module declares: a key, or a symbol."""
        natives = (
            native for group in (*self.calls.values(), *self.ops.values()) for native in group
        )
        known = (*self.calls.get(name, ()), *(n for n in natives if n.function.symbol == name))
        return tuple(dict.fromkeys(known))

    @property
    def is_closed(self) -> bool:
        """Return whether new code does not call it."""
        return self not in libraries.in_force()

    def close(self) -> None:
        """Keep new code from calling it. Compiled code still does."""
        libraries.withdraw(self)

    def __enter__(self) -> Library:
        if self.is_closed:
            raise LibraryError(
                f"the library `{self.name}` is closed",
                hint="register it again: lx.library(name, file, functions)",
            )
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        refuse_pickling("a registered library", "register it in each process")

    def __repr__(self) -> str:
        state = "closed" if self.is_closed else "registered"
        lines = [f"library {self.name}: {self.file or 'of this process'}, {state}"]
        lines += [f"  {key:20}  {_listed(natives)}" for key, natives in self.calls.items()]
        lines += [f"  {key.name:20}  {_listed(natives)}" for key, natives in self.ops.items()]
        return "\n".join(lines)

    def _symbol(self, symbol: str) -> str:
        return f"{SYMBOL}{self.name}.{self.fingerprint}.{symbol}"

    def _addresses(self, functions: Sequence[Prototype]) -> dict[Prototype, int]:
        addresses: dict[Prototype, int] = {}
        for function in functions:
            names = [function.symbol]
            if not isinstance(function, Gemm):
                # Upstream calls this name. The plain one beside it has another calling convention.
                names.insert(0, _INTERFACE + function.symbol)
            address = next(filter(None, (address_in(self._handle, name) for name in names)), None)
            if address is None:
                raise UnresolvedSymbolError(
                    f"the library `{self.name}` has no function `{function.symbol}`",
                    where=str(self._handle._name or "this process"),
                    expected=" or ".join(f"`{name}`" for name in names) + " among what it exports",
                    hint='look with `nm -D`; in C++ declare it extern "C"',
                )
            addresses[function] = address
        return addresses


def in_force() -> tuple[Library, ...]:
    """Return the libraries that new code calls, the latest first."""
    return tuple(
        registered for registered in libraries.in_force() if isinstance(registered, Library)
    )


def library(
    name: str,
    where: str | Path | ctypes.CDLL,
    functions: Functions,
) -> Library:
    """Register native functions in the place of ops.

    An op with `library_call = "f"` calls the function of the key "f", or that of `f` with its types
    behind it, `f_sxsxf32_sxsxf32`; without either in any library, the op is compiled as ever. If no
    op of a module asks for "f" and `lx.ops` has an op of that name, the key stands for `linalg.f`.
    An op that computes the same as an op among the keys, by whatever name, calls the function of
    that key if it takes the op's types. Of several libraries with a function, the latest is called.
    Nothing is fused into such an op. `kernel.explain()` names the ops that became calls. The
    library is registered for the whole process, until `close()` or the end of a `with` block; other
    processes, those of `isolated=True` among them, have libraries of their own.

    Args:
        name: of the library, for people and for code: letters, digits, `_`.
        where: the file, or a `ctypes.CDLL`.
        functions: for each op its function, or several for several types: the symbol and the types
            as MLIR writes them, `add(memref<?x?xf32>, memref<?x?xf32>, memref<?x?xf32>)`; the
            module `prototype` has the calling convention. A key is the value of a `library_call`,
            an op such as `lx.ops.matmul`, or its name, "linalg.matmul". The function writes its
            outputs alone, and may be called by several threads at once.

    Raises:
        UnresolvedSymbolError: the file, or a function in it, is not found.
        LibraryError: the name is taken, or a key or a function cannot be understood.
    """
    registered = Library(name, where, functions)
    libraries.put_in_force(registered)
    return registered


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not name.isidentifier() or not name.isascii():
        raise LibraryError(
            f"{name!r} cannot name a library", expected="letters, digits and underscores"
        )


def _opened(where: str | Path | ctypes.CDLL) -> ctypes.CDLL:
    if isinstance(where, ctypes.CDLL):
        return where
    if not isinstance(where, str | os.PathLike) or not str(where):
        raise LibraryError(
            f"{where!r} is not a library", expected="the path of a shared library, or a ctypes.CDLL"
        )
    (handle,) = load_libraries([str(where)])
    return handle


def _listed(natives: Sequence[NativeFunction]) -> str:
    return ", ".join(str(native.function) for native in natives)


def _fingerprint(name: str, file: str, functions: Mapping[Key, tuple[Prototype, ...]]) -> str:
    parts = [name, file]
    if os.path.isfile(file):
        status = os.stat(file)
        parts += [str(status.st_size), str(status.st_mtime_ns)]
    else:
        parts.append(str(os.getpid()))  # the code may be of this process alone
    parts += [f"{key}: {prototypes}" for key, prototypes in functions.items()]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


_PACKAGES = ("scipy_openblas64", "scipy_openblas32")


def openblas(name: str = "openblas") -> Library:
    """Register OpenBLAS for matrix products of f32 and of f64.

        with lx.libraries.openblas():
            c = lx.ops.matmul(a, b)

    It is that of the packages scipy-openblas64 or scipy-openblas32, if one is installed, else the
    one inside NumPy's wheel. It has its own threads, independent of `lx.threads`: see
    OPENBLAS_NUM_THREADS.

    Raises:
        LibraryError: OpenBLAS is not found, or the name is taken.
    """
    for path in _files():
        functions = _products(path)
        if functions:
            return library(name, path, {"linalg.matmul": functions})
    raise LibraryError(
        "OpenBLAS is not found",
        expected="the package scipy-openblas64 or scipy-openblas32, or NumPy's own wheel",
        hint="pip install scipy-openblas64, or register your own: lx.library(name, file, "
        '{"linalg.matmul": lx.libraries.gemm("cblas_sgemm", "f32")})',
    )


def _files() -> Iterator[Path]:
    for name in _PACKAGES:
        try:
            package = importlib.import_module(name)
        except ImportError:
            continue
        yield from sorted(Path(package.get_lib_dir()).glob("libscipy_openblas*"))
    beside = Path(np.__file__).parent
    yield from sorted(beside.parent.glob("numpy.libs/libscipy_openblas*"))
    yield from sorted(beside.glob(".dylibs/libscipy_openblas*"))


def _products(path: Path) -> list[Gemm]:
    """Return the matrix products of a file of OpenBLAS; none if it is another file."""
    try:
        handle = ctypes.CDLL(str(path))
    except OSError:
        return []
    sizes: tuple[tuple[str, Literal[32, 64]], ...] = (("64_", 64), ("", 32))
    for suffix, bits in sizes:
        if hasattr(handle, f"scipy_cblas_sgemm{suffix}"):
            return [
                gemm(f"scipy_cblas_{letter}gemm{suffix}", element, integer_bits=bits)
                for letter, element in (("s", "f32"), ("d", "f64"))
            ]
    return []
