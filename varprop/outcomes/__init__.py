"""What follows the logits: attention, its output, the output head's logits, the first loss."""
