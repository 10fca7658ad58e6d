"""The C header of a kernel: its memrefs as structs, and the function that C calls.

The compiled function itself takes a table with the address of each argument, which no C compiler's
rules for passing floats of 16 bits, complex numbers or structs can upset. The header's function
makes that table, and checks sizes and strides first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from linalg_ext.executable.signature import (
    ArrayType,
    Entry,
    Result,
    Signature,
    ValueType,
    split_message,
)

_C_TYPES = {
    "f64": "double",
    "f32": "float",
    "f16": "uint16_t",
    "bf16": "uint16_t",
    "i1": "bool",
    "i4": "int8_t",
    "index": "int64_t",
    "complex<f32>": "lx_complex64",
    "complex<f64>": "lx_complex128",
} | {f"i{width}": f"int{width}_t" for width in (8, 16, 32, 64)}

_TAGS = {"index": "i64", "complex<f32>": "c64", "complex<f64>": "c128"}

_SHARED = """\
#ifndef LX_KERNELS
#define LX_KERNELS
typedef struct { float real, imag; } lx_complex64;
typedef struct { double real, imag; } lx_complex128;

/* Whether elements lie in row-major order without gaps. */
static inline bool lx_is_row_major(int rank, const int64_t *sizes, const int64_t *strides) {
  int64_t expected = 1;
  for (int axis = 0; axis < rank; ++axis) if (sizes[axis] == 0) return true;
  for (int axis = rank - 1; axis >= 0; --axis) {
    if (sizes[axis] != 1 && strides[axis] != expected) return false;
    expected *= sizes[axis];
  }
  return true;
}
#endif
"""


def c_name(entry: Entry) -> str:
    """Return the name of a kernel's files and functions after a prefix: letters, digits and `_`."""
    return entry.symbol.removeprefix("lx_entry_")


def header(
    signature: Signature,
    entry: Entry,
    symbol: str,
    assertions: Sequence[str],
    notes: Sequence[str] = (),
) -> str:
    """Return the header's text, C99 and C++; `symbol` is the function in the object file."""
    name = c_name(entry)
    guard = f"LX_KERNEL_{name.upper()}_H"
    parts = [
        _comment([str(signature), *notes]),
        f"#ifndef {guard}\n#define {guard}\n#include <stdbool.h>\n#include <stdint.h>\n",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        _SHARED,
        *_structs(signature),
        f"/* The compiled function: it takes the address of each argument. */\n"
        f"void {symbol}(void **table);\n",
        _failure(name, assertions),
        _function(signature, entry, symbol),
        "#ifdef __cplusplus\n}\n#endif\n#endif",
    ]
    return "\n".join(parts) + "\n"


def _function(signature: Signature, entry: Entry, symbol: str) -> str:
    name = c_name(entry)
    parameters, setting, checks = [], [], []
    table = ["&results"] if entry.returned else []
    for parameter in signature.parameters:
        own, type_ = f"in{parameter.position}", parameter.type
        const = "" if parameter.is_written else "const "
        if not isinstance(type_, ArrayType):
            parameters.append(f"{_element(type_)} {own}")
            if type_.element.mlir == "i4":
                setting.append(f"{own} = ({_element(type_)})({own} & 15);")
            table.append(f"&{own}")
            continue
        parameters.append(f"{const}{_pointee(type_)} *{own}")
        setting += _place(type_, own)
        checks += _check(type_, own, -1 - parameter.position)
        table.append(f"&at_{own}")
    first_result = len(signature.parameters)
    for result in signature.results:
        own = f"out{result.position}"
        parameters.append(f"{_pointee_of_result(result, entry)} *{own}")
    for index in entry.destinations:
        result, own = signature.results[index], f"out{index}"
        setting += _place(result.type, own, _is_unsigned(result))
        if isinstance(result.type, ArrayType):
            checks += _check(result.type, own, -1 - first_result - index)
        table.append(f"&at_{own}")
    collected = []
    if entry.returned:
        members = [
            f"{_struct_name(signature.results[index])} out{index};" for index in entry.returned
        ]
        setting += [f"struct {{ {' '.join(members)} }} returned;", "void *results = &returned;"]
        collected = [f"  *out{index} = returned.out{index};" for index in entry.returned]
        collected = ["  if (status) return status;", *collected]
    body = [
        "  int64_t status = 0;",
        "  struct { int64_t *allocated, *aligned, offset, size, stride; } state ="
        " {&status, &status, 0, 1, 1};",
        "  void *at_status = &state;",
        *(f"  {line}" for line in (*setting, *checks)),
        f"  void *table[] = {{{', '.join(f'(void *){word}' for word in (*table, '&at_status'))}}};",
        f"  {symbol}(table);",
        *collected,
        "  return status;",
    ]
    about = [
        "Returns 0 for success.",
        f"More: a check failed; lx_{name}_failure says which, and results are undefined.",
        "Less: nothing ran, for the sizes or strides of a memref are not those of its type:",
        "-1 for the first argument, -2 for the second, ...",
        *_arguments_text(signature, entry),
    ]
    listed = ",\n    ".join(parameters) or "void"
    return (
        _comment(about)
        + f"\nstatic inline int64_t lx_{name}(\n    {listed}) {{\n"
        + "\n".join(body)
        + "\n}\n"
    )


def _arguments_text(signature: Signature, entry: Entry) -> Iterator[str]:
    for parameter in signature.parameters:
        written = ", may be written" * parameter.is_written
        yield f"in{parameter.position}: {parameter.type}{written}"
    for result in signature.results:
        if result.position in entry.returned:
            how = "comes back; free(allocated), unless that is an input's or 0xDEADBEEF"
        else:
            how = "written where it points to"
        yield f"out{result.position}: {result.type}, {how}"
    if _holds(signature, "f16", "bf16", "f8"):
        yield "Floats of 16 and 8 bits are passed as their bits."


def _holds(signature: Signature, *elements: str) -> bool:
    types = [parameter.type for parameter in signature.parameters]
    types += [result.type for result in signature.results]
    return any(type_.element.mlir.startswith(elements) for type_ in types)


def _place(type_: ValueType, own: str, is_unsigned: bool = False) -> list[str]:
    """Return lines that set `at_<own>`, the pointer to a descriptor."""
    if isinstance(type_, ArrayType) and type_.rank:
        return [f"const void *at_{own} = {own};"]
    element = _element(type_, is_unsigned)
    return [
        f"struct {{ const {element} *allocated, *aligned; int64_t offset; }}"
        f" memref_{own} = {{{own}, {own}, 0}};",
        f"const void *at_{own} = &memref_{own};",
    ]


def _check(type_: ArrayType, own: str, code: int) -> list[str]:
    """Return lines that return `code` if a memref is not of its type."""
    if not type_.rank:
        return []
    sizes = type_.shape[: type_.rank]
    wrong = [
        f"{own}->sizes[{axis}] != {size}" for axis, size in enumerate(sizes) if size is not None
    ]
    if type_.offset is not None:
        wrong.append(f"{own}->offset != {type_.offset}")
    if type_.strides is None:
        wrong.append(f"!lx_is_row_major({type_.rank}, {own}->sizes, {own}->strides)")
    else:
        wrong += [
            f"({own}->sizes[{axis}] > 1 && {own}->strides[{axis}] != {stride})"
            for axis, stride in enumerate(type_.strides)
            if stride is not None
        ]
    return [f"if ({' || '.join(wrong)}) return {code};"] if wrong else []


def _structs(signature: Signature) -> Iterator[str]:
    """Yield the struct of each kind of memref, and a function that fills it."""
    tags = set()
    types: list[tuple[ValueType, bool]] = [(value.type, False) for value in signature.parameters]
    types += [(value.type, _is_unsigned(value)) for value in signature.results]
    for type_, is_unsigned in types:
        if isinstance(type_, ArrayType) and (_tag(type_, is_unsigned) not in tags):
            tags.add(_tag(type_, is_unsigned))
            yield _struct(type_, is_unsigned)


def _struct(type_: ArrayType, is_unsigned: bool) -> str:
    tag, element, rank = _tag(type_, is_unsigned), _pointed(type_, is_unsigned), type_.rank
    lines = [f"#ifndef LX_MEMREF_{tag}", f"#define LX_MEMREF_{tag}"]
    steps = "".join(f" + i{axis} * strides[{axis}]" for axis in range(rank))
    where = f"aligned[offset{steps}]" if not type_.vector else "at aligned, strides count vectors"
    lines += [
        f"/* {', '.join(f'i{axis}' for axis in range(rank)) or 'The element'}: {where} */",
        "typedef struct {",
        f"  {element} *allocated, *aligned;",
        "  int64_t offset;",
    ]
    if rank:
        lines.append(f"  int64_t sizes[{rank}], strides[{rank}];")
    lines.append(f"}} lx_memref_{tag};")
    if rank:
        sizes = [f"n{axis}" for axis in range(rank)]
        strides = [" * ".join(sizes[axis + 1 :]) or "1" for axis in range(rank)]
        lines += [
            "/* An array in row-major order without gaps. */",
            f"static inline lx_memref_{tag} lx_row_major_{tag}(\n    const {element} *data, "
            + ", ".join(f"int64_t {size}" for size in sizes)
            + ") {",
            f"  lx_memref_{tag} made = {{({element} *)data, ({element} *)data, 0, "
            f"{{{', '.join(sizes)}}}, {{{', '.join(strides)}}}}};",
            "  return made;",
            "}",
        ]
    return "\n".join([*lines, "#endif"]) + "\n"


def _failure(name: str, assertions: Sequence[str]) -> str:
    cases = [
        f"    case {number}: return {_c_text(split_message(message)[0])};"
        for number, message in enumerate(assertions, start=1)
    ]
    lines = [
        f"static inline const char *lx_{name}_failure(int64_t status) {{",
        "  switch (status) {",
        '    case 0: return "success";',
        *cases,
        '    default: return status < 0 ? "wrong sizes or strides" : "unknown";',
        "  }",
        "}",
    ]
    return "\n".join(lines) + "\n"


def _pointee(type_: ArrayType) -> str:
    return f"lx_memref_{_tag(type_)}" if type_.rank else _pointed(type_, False)


def _pointee_of_result(result: Result, entry: Entry) -> str:
    """Return the type that the pointer for a result points to.

    It is the element's type for a single element in memory of the caller, else a struct.
    """
    is_single = not isinstance(result.type, ArrayType) or not result.type.rank
    if is_single and result.position not in entry.returned:
        return _pointed(result.type, _is_unsigned(result))
    return _struct_name(result)


def _struct_name(result: Result) -> str:
    if not isinstance(result.type, ArrayType):
        raise TypeError("a scalar never comes back in a struct")
    return f"lx_memref_{_tag(result.type, _is_unsigned(result))}"


def _tag(type_: ArrayType, is_unsigned: bool = False) -> str:
    """Return the part of a struct's name that identifies its type: `f32_2`, `4x8xf32_1`."""
    mlir = type_.element.mlir
    tag = _TAGS.get(mlir, mlir)
    if is_unsigned:
        tag = "u" + tag[1:]
    return f"{''.join(f'{size}x' for size in type_.vector)}{tag}_{type_.rank}"


def _pointed(type_: ValueType, is_unsigned: bool) -> str:
    is_vector = isinstance(type_, ArrayType) and type_.vector
    return "void" if is_vector else _element(type_, is_unsigned)


def _element(type_: ValueType, is_unsigned: bool = False) -> str:
    c_type = _C_TYPES.get(type_.element.mlir, "uint8_t")  # floats of 8 bits
    return f"u{c_type}" if is_unsigned else c_type


def _is_unsigned(result: Result) -> bool:
    return result.dtype == result.type.element.unsigned


def _comment(lines: Sequence[str]) -> str:
    safe = [line.replace("*/", "* /").replace("/*", "/ *") for line in lines]
    flat = [" ".join(line.splitlines()) for line in safe]
    return "/* " + "\n   ".join(flat) + " */"


def _c_text(text: str) -> str:
    plain = "".join(
        chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}"
        for byte in text.encode()
    )
    return f'"{plain}"'
