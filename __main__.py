"""``crystal-eval`` as a command and as ``python -m lmms_eval_crystal``, which launchers of several processes take."""

import sys


def main() -> None:
    """Runs the command line; Ctrl-C while its libraries are still loading ends it without a traceback."""
    try:
        from .cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()
