"""Elementary functions on vectors: polynomials and bit manipulation, no call for each element.

A few families of functions a file; `expand_vector_math` is the pass that puts them in. Each states
its largest error in units in the last place (ulp), and is right at infinities, NaN, zeros of both
signs and subnormal numbers. Polynomials are Chebyshev interpolations (near-minimax), computed with
50 digits and rounded to the format.

Sources: J.-M. Muller, Elementary Functions: Algorithms and Implementation, 3rd ed., Birkhauser
2016, for range reduction (chapter 11) and for the sum of the errors; W. Cody and W. Waite, Software
Manual for the Elementary Functions, Prentice-Hall 1980, for reduction by a constant in parts.
"""
