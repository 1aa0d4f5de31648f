"""``python -m lmms_eval_crystal``: the command ``crystal-eval``, as launchers of several processes take it."""

from .cli.main import main

if __name__ == "__main__":
    main()
