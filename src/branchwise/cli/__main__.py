"""`python -m branchwise.cli`."""

from branchwise.cli.main import main

main()
