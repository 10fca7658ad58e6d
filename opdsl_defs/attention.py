"""The contractions of attention: scores of queries against keys, and their use on values.

Letters: B batch, H heads, Q queries, K keys, D features, G query heads that share one key head.
Between the two stand a scale, a mask and a softmax: see normalization.py.
"""

from linalg_ext.opdsl import (
    T1,
    T2,
    ContractionOpInterface,
    D,
    S,
    ScalarDef,
    TensorDef,
    U,
    domain,
    implements,
    structured_op,
)

from ._values import cast, product

__all__ = [
    "attention_scores",
    "attention_values",
    "grouped_query_attention_scores",
    "grouped_query_attention_values",
    "scaled_attention_scores",
]


@structured_op
def attention_scores(
    query=TensorDef(T1, S.B, S.H, S.Q, S.D),
    key=TensorDef(T2, S.B, S.H, S.K, S.D),
    O=TensorDef(U, S.B, S.H, S.Q, S.K, output=True),
):
    """Scores of queries against keys, head by head, added to O.

        O[b, h, q, k] += sum over d of query[b, h, q, d] * key[b, h, k, d]

    Shapes: query (B, H, Q, D), key (B, H, K, D), O (B, H, Q, K).
    Dtypes: any numbers; query and key are cast to that of O, as signed, before the product.
    Source: this library; Vaswani et al., NIPS 2017, without the scale.
    """
    domain(D.b, D.h, D.q, D.k, D.d)
    implements(ContractionOpInterface)
    O[D.b, D.h, D.q, D.k] += product(query[D.b, D.h, D.q, D.d], key[D.b, D.h, D.k, D.d])


@structured_op
def scaled_attention_scores(
    query=TensorDef(T1, S.B, S.H, S.Q, S.D),
    key=TensorDef(T2, S.B, S.H, S.K, S.D),
    scale=ScalarDef(U),
    O=TensorDef(U, S.B, S.H, S.Q, S.K, output=True),
):
    """Scores of queries against keys, each product scaled, added to O.

        O[b, h, q, k] += sum over d of scale * query[b, h, q, d] * key[b, h, k, d]

    Shapes: query (B, H, Q, D), key (B, H, K, D), O (B, H, Q, K); scale a scalar, 1 / sqrt(D) most
    often.
    Dtypes: any numbers; query and key are cast to that of O and scale, as signed.
    Source: this library; Vaswani et al., NIPS 2017.
    """
    domain(D.b, D.h, D.q, D.k, D.d)
    O[D.b, D.h, D.q, D.k] += scale * cast(query[D.b, D.h, D.q, D.d]) * cast(key[D.b, D.h, D.k, D.d])


@structured_op
def attention_values(
    weights=TensorDef(T1, S.B, S.H, S.Q, S.K),
    value=TensorDef(T2, S.B, S.H, S.K, S.D),
    O=TensorDef(U, S.B, S.H, S.Q, S.D, output=True),
):
    """Weighted sums of values, head by head, added to O.

        O[b, h, q, d] += sum over k of weights[b, h, q, k] * value[b, h, k, d]

    Shapes: weights (B, H, Q, K), value (B, H, K, D), O (B, H, Q, D).
    Dtypes: any numbers; weights and value are cast to that of O, as signed, before the product.
    Source: this library; Vaswani et al., NIPS 2017.
    """
    domain(D.b, D.h, D.q, D.d, D.k)
    implements(ContractionOpInterface)
    O[D.b, D.h, D.q, D.d] += product(weights[D.b, D.h, D.q, D.k], value[D.b, D.h, D.k, D.d])


@structured_op
def grouped_query_attention_scores(
    query=TensorDef(T1, S.B, S.H, S.G, S.Q, S.D),
    key=TensorDef(T2, S.B, S.H, S.K, S.D),
    O=TensorDef(U, S.B, S.H, S.G, S.Q, S.K, output=True),
):
    """Scores of queries against keys, where G query heads share each key head, added to O.

        O[b, h, g, q, k] += sum over d of query[b, h, g, q, d] * key[b, h, k, d]

    Shapes: query (B, H, G, Q, D), key (B, H, K, D), O (B, H, G, Q, K).
    Dtypes: any numbers; query and key are cast to that of O, as signed, before the product.
    Source: this library; Ainslie et al., EMNLP 2023.
    """
    domain(D.b, D.h, D.g, D.q, D.k, D.d)
    implements(ContractionOpInterface)
    O[D.b, D.h, D.g, D.q, D.k] += product(query[D.b, D.h, D.g, D.q, D.d], key[D.b, D.h, D.k, D.d])


@structured_op
def grouped_query_attention_values(
    weights=TensorDef(T1, S.B, S.H, S.G, S.Q, S.K),
    value=TensorDef(T2, S.B, S.H, S.K, S.D),
    O=TensorDef(U, S.B, S.H, S.G, S.Q, S.D, output=True),
):
    """Weighted sums of values, where G query heads share each value head, added to O.

        O[b, h, g, q, d] += sum over k of weights[b, h, g, q, k] * value[b, h, k, d]

    Shapes: weights (B, H, G, Q, K), value (B, H, K, D), O (B, H, G, Q, D).
    Dtypes: any numbers; weights and value are cast to that of O, as signed, before the product.
    Source: this library; Ainslie et al., EMNLP 2023.
    """
    domain(D.b, D.h, D.g, D.q, D.d, D.k)
    implements(ContractionOpInterface)
    O[D.b, D.h, D.g, D.q, D.d] += product(
        weights[D.b, D.h, D.g, D.q, D.k], value[D.b, D.h, D.k, D.d]
    )
