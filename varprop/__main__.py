"""``python -m varprop``: the command line from a checkout that is not installed."""

from varprop.cli import main

if __name__ == "__main__":
    main()
