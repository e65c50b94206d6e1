"""What follows the logits: attention, its output, the output head's logits, the first loss.

Stages:
    attention, attention_output, output_logits, loss: the attributes of each.
    moments: what the attributes of all have in common.

A row of keys and its softmax:
    front: sizes and moments of one specification that decide it.
    key_law: its standard deviation and the own key's logit, in independent random variables.
    row_nodes, row_law: the same as a few nodes and weights.
    softmax_rows: averages over them; neglected: what these miss; softmax_law: all of it together.

The hidden state and the output head:
    hidden, fixed_parts: what a row of it is made of, and the part that is not drawn.
    directions, stepped_laws: where a Gaussian row points, by quadrature.
    power_sums: sums of powers of its entries, which a head with a mean or tails needs.
    head: a row of the head that is independent of it.
    own_token, own_cumulants, own_moments, own_loss: the row that it holds a part of.
"""
