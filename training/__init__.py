"""Training on process: GRPO with rewards for the answer and for the reasoning (the extra ``[train]``).

The evaluation imports nothing of it. ``rewards`` works in any GRPO trainer; ``trainer`` adds gradient
surgery to trl's; ``run`` takes a configuration from data to a chosen checkpoint.
"""
