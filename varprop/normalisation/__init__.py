"""LayerNorm and RMSNorm with any eps: what is known of the rows that they put out.

    y = (x - mean(x)) / sqrt(v + eps),    |y|^2 = d v / (v + eps)

v is the biased variance of a row of d entries (LayerNorm) or its mean square, with no mean taken
off (RMSNorm).  A stage asks for the mean of a product of contractions of rows:

    record, limits: what of a specification decides it; what is refused.
    rows: which of the ways below knows it; method: how it was found, and how far it can be off.
    reading, pairings: contractions as products, and these averaged over directions.
    directions: Gaussian rows whose channels are alike.
    weights, chi_square: what a Gaussian row's entries are worth, from the law of its length.
    sinusoidal, fixed_rows, distinct: rows with sinusoidal positions, averaged over these.
    masked, expansion: lengths of rows that are not Gaussian.
"""
