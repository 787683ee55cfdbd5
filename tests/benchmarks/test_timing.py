"""What the benchmarks compute from times: no test here depends on how fast the machine is."""

import pytest

from benchmarks.timing import goal, growth_exponent, interleaved, median_and_p95, print_table


@pytest.mark.parametrize("exponent", [0, 1, 1.5, 2])
def test_a_power_law_has_its_exponent(exponent):
    lengths = [512, 1024, 4096, 16384]
    times = [3e-7 * length**exponent for length in lengths]
    assert growth_exponent(lengths, times) == pytest.approx(exponent, abs=1e-12)


def test_exponent_of_scattered_times_is_the_least_squares_slope():
    # logs in base 2: x = 0, 1, 2 and y = 0, 2, 1; slope Σ(x − 1)(y − 1)/Σ(x − 1)² = 1/2
    assert growth_exponent([1, 2, 4], [1, 4, 2]) == pytest.approx(0.5, abs=1e-12)


def test_median_and_p95_are_order_statistics():
    # 0 … 100 in any order: 95 of 100 steps lie below 95
    assert median_and_p95([*range(100, -1, -1)]) == pytest.approx((50, 95))


def scripted(calls):
    """A timer that runs the call and takes its result for the seconds."""
    return lambda call: calls.append(call()) or float(calls[-1])


def test_every_candidate_runs_once_a_round_and_warm_ups_are_not_kept():
    run = []
    times = interleaved({"a": lambda: 1, "b": lambda: 2}, 5, warmups=2, timer=scripted(run))
    assert times == {"a": [1.0] * 5, "b": [2.0] * 5}
    assert len(run) == 2 * (2 + 5)
    assert all(sorted(run[start : start + 2]) == [1, 2] for start in range(0, len(run), 2))
    assert len({tuple(run[start : start + 2]) for start in range(0, len(run), 2)}) == 2  # in either order


@pytest.mark.parametrize(("rounds", "kept"), [(100, 3), (2, 2)])
def test_a_spent_budget_leaves_three_rounds(rounds, kept):
    assert len(interleaved({"a": lambda: 1}, rounds, budget=-1, timer=scripted([]))["a"]) == kept


def test_a_goal_is_met_at_its_limit():
    assert [goal(16, 16), goal(16.1, 16), goal(10, 10, at_least=True), goal(9.9, 10, at_least=True)] == list("✓✗✓✗")


def test_table_is_aligned_markdown(capsys):
    print_table(["name", "ms"], [["a long name", "1"], ["b", "10.5"]])
    assert capsys.readouterr().out.splitlines() == [
        "| name        |   ms |",
        "| ----------- | ---: |",
        "| a long name |    1 |",
        "| b           | 10.5 |",
    ]
