"""LayerNorm and RMSNorm with any eps: what is known of the rows that they put out.

    y = (x - mean(x)) / sqrt(v + eps),    |y|^2 = d v / (v + eps)

v is the biased variance of a row of d entries (LayerNorm) or its mean square, with no mean taken
off (RMSNorm).
"""
