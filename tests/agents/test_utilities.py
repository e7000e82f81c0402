import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import heliotrope
from heliotrope.agents.utilities import (
    UTILITIES,
    Chebyshev,
    Linear,
    Minimum,
    SoftMaximin,
    SplitExponentialLog,
    parse_utility,
)

NUMBERS = st.floats(-1e3, 1e3)
POSITIVE = st.floats(1e-3, 1e3)
MODERATE = st.floats(-30, 30)


def lists(numbers):
    return st.lists(numbers, max_size=4).map(tuple)


UTILITY = st.one_of(
    st.builds(Linear, lists(NUMBERS)),
    st.builds(Minimum, lists(POSITIVE)),
    st.builds(SoftMaximin, POSITIVE, lists(POSITIVE)),
    st.builds(SplitExponentialLog, lists(POSITIVE)),
    st.builds(Chebyshev, lists(POSITIVE), st.just(()), st.floats(0, 10)),
    lists(st.tuples(POSITIVE, NUMBERS)).map(lambda pairs: Chebyshev(*zip(*pairs)) if pairs else Chebyshev()),
)

INCREASING = [
    Linear((1.0, 2.0, 0.5)),
    Minimum((1.0, 2.0, 0.5)),
    SoftMaximin(2.0, (1.0, 2.0, 0.5)),
    SplitExponentialLog((1.0, 2.0, 0.5)),
    Chebyshev((1.0, 2.0, 0.5), (3.0, 0.0, 100.0)),
    Chebyshev((1.0, 2.0, 0.5), (3.0, 0.0, 100.0), 0.01),
]
BALANCING = [Minimum(), SoftMaximin(2.0), SplitExponentialLog(), Chebyshev(), Chebyshev((1.0,), (5.0,), 0.1)]


def of(utility, *vector):
    return float(utility(np.array([vector], np.float64))[0])


# --- text ----------------------------------------------------------------------------------------------------------


@given(UTILITY)
def test_text_and_back(utility):
    assert parse_utility(str(utility)) == utility


def test_texts():
    assert parse_utility("min") == Minimum()
    assert parse_utility("linear") == Linear()
    assert parse_utility("linear:1,2,3") == Linear((1, 2, 3))
    assert parse_utility("soft-maximin:0.5") == SoftMaximin(0.5)
    assert parse_utility("soft-maximin:0.5:1,2") == SoftMaximin(0.5, scale=(1, 2))
    assert parse_utility("split-exp-log:scale=0.01") == SplitExponentialLog(0.01)
    assert parse_utility("chebyshev:1,1:ideal=0,2e3") == Chebyshev((1, 1), (0, 2000))
    assert str(Chebyshev((1, 0.5), augmentation=0.25)) == "chebyshev:1,0.5:augmentation=0.25"
    assert {str(kind()) for kind in UTILITIES.values()} == set(UTILITIES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("maximum", "one of"),
        ("", "one of"),
        ("min:a", "numbers"),
        ("linear:1,,2", "numbers"),
        ("linear:nan", "finite"),
        ("linear:1,inf", "finite"),
        ("min:scale=0", "scale must hold numbers above 0"),
        ("min:1:2", "needs a name"),
        ("min:weights=1", "allowed are"),
        ("soft-maximin:0", "temperature must be above 0"),
        ("soft-maximin:1,2", "one number"),
        ("soft-maximin:1:temperature=2", "twice"),
        ("soft-maximin:scale=1:2", "needs a name"),
        ("chebyshev:-1", "weights"),
        ("chebyshev:augmentation=-1", "augmentation"),
        ("chebyshev:1,2:1,2,3", "as many numbers"),
    ],
)
def test_wrong_texts(text, message):
    with pytest.raises(ValueError, match=message):
        parse_utility(text)


def test_wrong_arguments():
    with pytest.raises(TypeError, match="weights"):
        Linear("1,2")
    with pytest.raises(TypeError, match="temperature"):
        SoftMaximin("hot")
    with pytest.raises(ValueError, match="weights of linear:1,2 holds 2 numbers"):
        Linear((1, 2))(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="shape"):
        Minimum()(np.zeros(3))


# --- what they are worth ---------------------------------------------------------------------------------------------


@given(st.sampled_from(INCREASING), st.lists(MODERATE, min_size=3, max_size=3), st.integers(0, 2), st.floats(1e-3, 10))
def test_more_is_never_worse(utility, vector, dimension, more):
    raised = list(vector)
    raised[dimension] += more
    assert of(utility, *raised) >= of(utility, *vector)
    everything = [value + more for value in vector]
    assert of(utility, *everything) > of(utility, *vector)


@given(st.sampled_from(BALANCING), MODERATE, st.floats(0.1, 10), MODERATE)
def test_balanced_is_better_than_unbalanced_of_the_same_sum(utility, middle, spread, other):
    balanced, unbalanced = of(utility, middle, middle), of(utility, middle - spread, middle + spread)
    assert balanced > unbalanced
    assert of(Linear(), middle, middle) == pytest.approx(of(Linear(), middle - spread, middle + spread))


@given(st.sampled_from(BALANCING), st.lists(MODERATE, min_size=6, max_size=6), st.floats(0, 1))
def test_concave(utility, numbers, share):
    one, two = np.array(numbers[:3]), np.array(numbers[3:])
    mixture = of(utility, *(share * one + (1 - share) * two))
    apart = share * of(utility, *one) + (1 - share) * of(utility, *two)
    assert mixture >= apart - 1e-9 * (1 + abs(apart))


@given(st.lists(MODERATE, min_size=2, max_size=4))
def test_soft_maximin_lies_between_the_minimum_and_the_mean(vector):
    low, mean = min(vector), float(np.mean(vector))
    worth = [of(SoftMaximin(temperature), *vector) for temperature in (1e-6, 0.1, 1, 10, 1e7)]
    assert all(low - 1e-5 <= value <= mean + 1e-5 for value in worth)
    assert np.all(np.diff(worth) >= -1e-5)
    assert worth[0] == pytest.approx(low, abs=1e-4)
    assert worth[-1] == pytest.approx(mean, abs=1e-4)


def test_split_function():
    utility = SplitExponentialLog()
    assert of(utility, 0.0) == 0.0
    assert of(utility, 1.0) == pytest.approx(np.log(2))
    assert of(utility, -1.0) == pytest.approx(1 - np.e)
    assert of(utility, 1.0, -1.0) == pytest.approx(np.log(2) + 1 - np.e)
    assert of(SplitExponentialLog((0.5, 2.0)), 2.0, 0.5) == pytest.approx(2 * np.log(2))
    # The same slope on both sides of nothing.
    assert (of(utility, 1e-6) / 1e-6, of(utility, -1e-6) / -1e-6) == pytest.approx((1, 1), rel=1e-5)


@given(st.floats(0.01, 400))
def test_split_function_minds_losses_more_than_gains(size):
    utility = SplitExponentialLog()
    gain, loss = of(utility, size), -of(utility, -size)
    assert loss > size > gain > 0
    # Each further unit of a gain counts less, each further unit of a loss more.
    assert of(utility, 2 * size) < 2 * gain
    assert -of(utility, -2 * size) > 2 * loss


def test_split_function_stays_finite_and_increasing_far_down():
    values = SplitExponentialLog()(np.array([[-1e6], [-1e4], [-501.0], [-500.0], [-499.0], [-300.0], [0.0]]))
    assert np.isfinite(values).all()
    assert np.all(np.diff(values) > 0)


def test_chebyshev_reaches_concave_parts_of_a_front():
    front = np.array([[0.0, 10.0], [4.0, 4.0], [10.0, 0.0]])  # the middle lies below the line between the others
    chosen = {int(Linear((share, 1 - share))(front).argmax()) for share in np.linspace(0, 1, 101)}
    assert chosen == {0, 2}
    chosen = {int(Chebyshev((share, 1 - share), (10,))(front).argmax()) for share in np.linspace(0.01, 0.99, 101)}
    assert chosen == {0, 1, 2}


def test_augmentation_breaks_ties():
    vectors = np.array([[1.0, 5.0], [1.0, 2.0]])
    plain, augmented = Chebyshev((1.0,), (6.0,)), Chebyshev((1.0,), (6.0,), 0.01)
    assert plain(vectors)[0] == plain(vectors)[1]
    assert augmented(vectors)[0] > augmented(vectors)[1]


@given(UTILITY, st.integers(1, 5))
def test_rounding_does_not_depend_on_the_number_of_rows(utility, rows):
    width = max([1, *(len(value) for value in vars(utility).values() if isinstance(value, tuple))])
    vectors = np.random.default_rng(rows).normal(size=(rows, width))
    together = utility(vectors)
    assert together.dtype == np.float64
    assert together.shape == (rows,)
    np.testing.assert_array_equal(together, [utility(vectors[i : i + 1])[0] for i in range(rows)])


# --- in environments -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["linear:1,2", "min", "soft-maximin:5", "split-exp-log:0.01", "chebyshev:1,1:ideal=50,50"]
)
def test_environments_pay_utilities(text):
    utility = parse_utility(text)
    envs = heliotrope.make_vec("FoodDrinkUnbounded", 4, utility=utility)
    envs.reset(seed=0)
    policy = heliotrope.random_policy(envs, seed=0)
    paid, earned = np.zeros(4), np.zeros((4, 2))
    for _ in range(100):
        _, rewards, _, _, info = envs.step(policy(None, {}))
        paid += rewards
        earned += np.stack(list(info["reward"].values()), axis=1)
    np.testing.assert_allclose(paid, utility(earned) - utility(np.zeros((4, 2))), atol=1e-9)


def test_environments_refuse_a_wrong_number_of_weights():
    with pytest.raises(ValueError, match="holds 3 numbers"):
        heliotrope.make_vec("FoodDrinkUnbounded", 4, utility=parse_utility("linear:1,2,3"))
