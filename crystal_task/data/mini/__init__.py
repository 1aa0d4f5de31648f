"""The maker of ``crystal_mini``: texts in ``items/*.yaml``, drawings in Python, photographs out of scikit-image.

``python -m lmms_eval_crystal.crystal_task.data.mini`` writes the shipped file again. Nothing of it runs in an
evaluation, which reads the finished parquet file only.
"""
