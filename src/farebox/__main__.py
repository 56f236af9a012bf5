"""`python -m farebox`: the command line."""

from farebox.cli.main import main

if __name__ == "__main__":
    main()
