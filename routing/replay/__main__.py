"""`python -m routing.replay`; spark-submit takes this file."""

import sys

from routing.replay.job import main

if __name__ == "__main__":
    sys.exit(main())
