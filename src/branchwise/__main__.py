"""`python -m branchwise`: the same as the `branchwise` command."""

from branchwise.cli.main import main

if __name__ == "__main__":
    main()
