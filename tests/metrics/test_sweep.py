"""One matching serves all thresholds."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from lmms_eval_crystal.metrics import StepScores, match_steps
from lmms_eval_crystal.metrics.sweep import PAPER_TAUS, score_thresholds

# Few values, so that ties between pairs and with the thresholds are common.
MATRICES = hnp.arrays(
    np.float32,
    st.tuples(st.integers(0, 6), st.integers(0, 6)),
    elements=st.sampled_from([-0.2, 0.1, 0.3, 0.35, 0.4, 0.45, 0.451, 0.5, 0.9]).map(np.float32),
)


@given(MATRICES, st.permutations(PAPER_TAUS))
def test_each_threshold_has_the_pairs_that_matching_finds_there(similarity, taus):
    for tau, scores in zip(taus, score_thresholds(similarity, taus), strict=True):
        assert scores == StepScores.of_pairs(match_steps(similarity, tau), *similarity.shape)
