"""`python -m warploom`: the command line."""

from warploom.tools.cli import main

if __name__ == "__main__":
    main()
