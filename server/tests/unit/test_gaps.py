"""What fits in the gaps of a pool, against a look at each resource."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from blazar.domain.planning.gaps import Gaps

RESOURCES = 4


@pytest.mark.parametrize("seed", range(60))
def test_a_time_fits_where_a_resource_is_free_for_all_of_it(seed: int) -> None:
    random = Random(seed)
    count = random.randint(0, 12)
    indexes = [random.randrange(RESOURCES) for _ in range(count)]
    begins = [random.randint(1, 20) for _ in range(count)]
    ends = [begin + random.randint(1, 8) for begin in begins]
    among = [random.random() < 0.7 for _ in range(RESOURCES)]
    gaps = Gaps(np.array(among), *(np.array(each, np.int64) for each in (indexes, begins, ends)))
    asked = [(begin, begin + random.randint(1, 12)) for begin in range(1, 25)]
    fits = [
        any(
            is_among
            and all(
                index != number or end <= begin or start >= until
                for index, start, end in zip(indexes, begins, ends, strict=True)
            )
            for number, is_among in enumerate(among)
        )
        for begin, until in asked
    ]
    starts, untils = np.array(asked, np.int64).T
    assert gaps.hold(starts, untils).tolist() == fits
