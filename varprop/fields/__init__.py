"""What all fields of a specification share: reading text, checking values, expressions."""
