"""The command before its first command."""

import sys

import pytest
from lmms_eval_crystal.__main__ import main


class Interrupted:
    """Stands for a user who presses Ctrl-C while the libraries are loading."""

    def find_spec(self, name, *_):
        if name == "lmms_eval_crystal.cli.main":
            raise KeyboardInterrupt


def test_ctrl_c_while_the_libraries_load_ends_with_130_and_no_traceback(monkeypatch):
    monkeypatch.delitem(sys.modules, "lmms_eval_crystal.cli.main", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupted(), *sys.meta_path])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 130
