"""The commands behind the command line, and the fields as options."""
