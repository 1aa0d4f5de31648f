"""A training to practise on: generated picture questions and a tiny model that was taught half of what it takes.

``python -m lmms_eval_crystal.training.practice OUT`` makes both, with a configuration that trains on one core.
"""
