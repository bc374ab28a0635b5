"""`python -m admin` is the `sluicemq` command, for where its script is not on PATH."""

from admin.cli.main import main

if __name__ == "__main__":
    main()
