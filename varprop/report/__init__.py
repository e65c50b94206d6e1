"""What people read: tables for terminals and notebooks, derivation pages."""
