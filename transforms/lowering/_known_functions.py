"""Functions outside a module that it may call though nobody vouches for it: the C library's
mathematics and its memory allocation.
"""

from __future__ import annotations

_MATHEMATICS = """
    acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp10 exp2
    expm1 fabs fdim floor fma fmax fmin fmod frexp hypot ilogb ldexp lgamma llrint llround log
    log10 log1p log2 logb lrint lround modf nearbyint nextafter nexttoward pow remainder remquo
    rint round roundeven scalbln scalbn sin sincos sinh sqrt tan tanh tgamma trunc
"""
"""Of <math.h>; each for double, with an `f` for float and an `l` for long double."""

_COMPLEX = """
    cabs cacos cacosh carg casin casinh catan catanh ccos ccosh cexp cimag clog conj cpow cproj
    creal csin csinh csqrt ctan ctanh
"""
"""Of <complex.h>; likewise."""

_PLAIN = "abs labs llabs div ldiv lldiv"
"""Of <stdlib.h>: arithmetic of integers."""

_MEMORY = "malloc calloc realloc aligned_alloc free memcpy memmove memset"
"""Of <stdlib.h> and <string.h>."""

KNOWN = frozenset(
    [
        *(name + suffix for name in (_MATHEMATICS + _COMPLEX).split() for suffix in ("", "f", "l")),
        *_PLAIN.split(),
        *_MEMORY.split(),
    ]
)
"""Their names."""
