"""Pictures of a fit."""

import sys

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import fbeta_score, make_scorer
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from fitwithin import TimeConstrainedClassifier, TimeConstrainedSearch, viz
from fitwithin.viz._fit_pictures import seconds_by_activity
from picture_parts import axes, legend_of
from sample_fits import a_fit, a_round, a_search

matplotlib = pytest.importorskip("matplotlib")


PICTURES = [getattr(viz, name) for name in viz.__all__]
OF_SEARCHES = (viz.plot_race, viz.plot_settings)
all_pictures = pytest.mark.parametrize("picture", PICTURES, ids=viz.__all__)


def any_fit(picture, *arguments):
    """Return a fit that the picture can draw."""
    return a_search() if picture in OF_SEARCHES else a_fit(*arguments)


def texts_in(ax):
    return [text.get_text() for text in ax.texts]


def points(ax, colour=None, filled=None):
    """Return the positions of markers without a line, by colour and by whether they are filled."""
    found = []
    for line in ax.lines:
        is_filled = line.get_markerfacecolor() != "none"
        if line.get_marker() != "None" and line.get_linestyle() == "None" and colour in (None, line.get_color()):
            found += [tuple(map(float, point)) for point in line.get_xydata() if filled in (None, is_filled)]
    return found


@all_pictures
def test_each_draws_on_the_given_axes_and_returns_them(picture):
    ax = axes()

    assert picture(any_fit(picture, [a_round(number, peak_memory=10**8 + number) for number in (1, 2)]), ax) is ax
    assert ax.has_data()
    ax.figure.draw_without_rendering()


@all_pictures
def test_each_creates_axes_if_none_are_given(picture):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    with matplotlib.rc_context({"backend": "agg"}):
        ax = picture(any_fit(picture))
        try:
            assert ax.figure.number in pyplot.get_fignums()
        finally:
            pyplot.close(ax.figure)


@all_pictures
def test_none_imports_pyplot_if_axes_are_given(picture, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)

    picture(any_fit(picture), axes())


@all_pictures
def test_none_changes_the_settings_of_matplotlib(picture):
    before = dict(matplotlib.rcParams)

    picture(any_fit(picture), axes())

    assert dict(matplotlib.rcParams) == before


@all_pictures
def test_each_raises_an_error_before_fit(picture):
    with pytest.raises(NotFittedError):
        picture(TimeConstrainedSearch() if picture in OF_SEARCHES else TimeConstrainedClassifier(), axes())


@all_pictures
def test_other_estimators_raise_an_error(picture):
    message = r"Got GaussianNB; expected a fitted TimeConstrained(Classifier or TimeConstrainedRegressor|Search)\."
    with pytest.raises(TypeError, match=message):
        picture(GaussianNB(), axes())


@all_pictures
def test_without_matplotlib_each_says_what_to_install(picture, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    with pytest.raises(ImportError, match=r"pip install 'fitwithin\[plots\]'"):
        picture(any_fit(picture))


@all_pictures
@pytest.mark.parametrize("rounds", [0, 1, 1000])
def test_any_number_of_rounds_can_be_drawn(picture, rounds):
    finished = [a_round(number, elapsed=0.003 * number, candidate=number % 30) for number in range(1, rounds + 1)]
    ax = picture(a_search(rounds=finished) if picture in OF_SEARCHES else a_fit(finished), axes())

    ax.figure.draw_without_rendering()
    assert len(ax.get_children()) < 40, "not a patch for each round"


@all_pictures
def test_a_real_fit_can_be_drawn(picture):
    random = np.random.default_rng(0)
    X = random.random((3000, 4))
    y = np.where(X[:, 0] + 0.3 * random.random(3000) > 0.9, "rare", "usual")
    if picture in OF_SEARCHES:
        space = {"max_depth": [1, 2, 4, 8], "min_samples_leaf": [1, 10]}
        fit = TimeConstrainedSearch(DecisionTreeClassifier(), space, time_limit=60, random_state=0)
    else:
        fit = TimeConstrainedClassifier(GaussianNB(), time_limit=60, random_state=0)

    assert picture(fit.fit(X, y), axes()).has_data()


def test_the_point_of_a_model_that_became_the_best_is_filled():
    ax = viz.learning_curve(a_fit(estimate=None), axes())

    assert points(ax, "#0072b2", filled=True) == [(2.0, 0.65), (6.0, 0.75)]
    assert points(ax, "#0072b2", filled=False) == [(4.0, 0.7)]


def test_each_interval_is_a_line():
    ax = viz.learning_curve(a_fit(), axes())

    ends = {tuple(end.round(6).tolist()) for path in ax.collections[0].get_paths() for end in path.vertices}
    assert {(2.0, 0.6), (2.0, 0.7), (6.0, 0.7), (6.0, 0.8)} <= ends


def test_the_best_model_so_far_is_a_line_of_steps_from_the_first_model_on():
    ax = viz.learning_curve(a_fit(), axes())

    steps = ax.get_lines()[0]
    assert steps.get_drawstyle() == "steps-post"
    assert list(zip(*steps.get_data(), strict=True))[:2] == [(2.0, 0.65), (6.0, 0.75)]


def test_the_score_estimate_is_a_diamond_at_the_time_of_its_model():
    ax = viz.learning_curve(a_fit(estimate=(0.72, 0.7, 0.74)), axes())

    assert points(ax, "#007a5a") == [(6.0, 0.72)]
    assert "returned: 0.7200" in legend_of(ax)


def test_an_expected_score_is_a_hollow_square_joined_to_the_score_that_came():
    unscored = {"estimate": None, "low": None, "high": None, "examined": 0}
    fit = a_fit([a_round(1), a_round(2, predicted_estimate=0.72), a_round(3, predicted_estimate=0.8, **unscored)])

    ax = viz.learning_curve(fit, axes())

    assert points(ax, "#a0457e", filled=False) == [(4.0, 0.72), (6.0, 0.8)]
    assert "expected before the fit" in legend_of(ax)
    dotted = [line for line in ax.collections if line.get_linestyles()[0][1] is not None]
    assert dotted[0].get_segments()[0].tolist() == [[4.0, 0.72], [4.0, 0.7]]


def test_without_expected_scores_the_learning_curve_mentions_none():
    assert not any("expected" in entry for entry in legend_of(viz.learning_curve(a_fit(), axes())))


def test_scores_that_are_too_high_have_another_colour():
    fit = a_fit([a_round(1), a_round(2), a_round(3, fresh=150)])

    ax = viz.learning_curve(fit, axes())

    assert points(ax, "#b84a00") == [(6.0, 0.75)]
    assert (6.0, 0.75) not in points(ax, "#0072b2")
    assert "too high: rows seen before" in legend_of(ax)


def test_a_model_without_a_score_is_a_stroke_at_the_bottom():
    ax = viz.learning_curve(a_fit([a_round(1), a_round(2, estimate=None, low=None, high=None, examined=0)]), axes())

    assert points(ax, "#555555", filled=True)[-1] == (4.0, 0.02)
    assert "model without a score" in legend_of(ax)


def test_without_any_score_the_learning_curve_says_so():
    ax = viz.learning_curve(a_fit([a_round(1, estimate=None, low=None, high=None)], estimate=None), axes())

    assert texts_in(ax) == ["No model has a score,\nso there is nothing to draw."]


@pytest.mark.parametrize(("limit", "shown"), [(10, True), ("18s", True), (60, False)])
def test_a_time_limit_is_drawn_if_it_is_near(limit, shown):
    fit = a_fit(time_limit=limit, used=9.0)

    assert (len(texts_in(viz.time_spent(fit, axes()))) == 1) is shown
    assert any("limit" in entry for entry in legend_of(viz.learning_curve(fit, axes()))) is shown


@pytest.mark.parametrize(
    ("scoring", "regressor", "name"),
    [
        (None, False, "accuracy"),
        (None, True, "R²"),
        ("balanced_accuracy", False, "balanced accuracy"),
        (fbeta_score, False, "fbeta_score"),
        (make_scorer(fbeta_score, beta=2), False, str(make_scorer(fbeta_score, beta=2))),
    ],
)
def test_the_axis_shows_the_name_of_the_score(scoring, regressor, name):
    assert viz.learning_curve(a_fit(scoring=scoring, regressor=regressor), axes()).get_ylabel() == name


def test_the_activities_add_up_to_the_time_used():
    ax = viz.time_spent(a_fit(used=9.0), axes())

    widths = [patch.get_width() for patch in ax.patches]
    assert widths == pytest.approx([3.0, 0.75, 1.5, 0.1875, 0.375, 3.0, 0.1875])
    assert legend_of(ax) == [
        "fit 3.00 s, 33 %",
        "predict 0.75 s, 8 %",
        "transfer 1.50 s, 17 %",
        "choose rows 0.19 s, 2 %",
        "save model 0.38 s, 4 %",
        "after the last round 3.00 s, 33 %",
        "other 0.19 s, 2 %",
    ]
    assert [patch.get_x() for patch in ax.patches[1:]] == pytest.approx(np.cumsum(widths)[:-1])


def test_seconds_of_learners_that_worked_at_the_same_time_are_all_drawn_without_the_limit():
    ax = viz.time_spent(a_fit(used=4.0, time_limit=5), axes())

    total = sum(patch.get_width() for patch in ax.patches)
    assert total > 4.0
    assert ax.get_xlim()[1] > total
    assert texts_in(ax) == []
    assert legend_of(ax)[0] == f"fit 3.00 s, {300 / total:.0f} %"


def test_the_setup_of_fits_stands_apart():
    fit = a_fit([a_round(1), a_round(2, seconds_setup=0.75), a_round(3, seconds_setup=0.5)])

    ax = viz.time_spent(fit, axes())

    assert legend_of(ax)[:3] == ["set-up of fits 1.25 s, 14 %", "fit after set-up 1.75 s, 19 %", "predict 0.75 s, 8 %"]
    assert sum(patch.get_width() for patch in ax.patches) == pytest.approx(9.0)
    assert ax.patches[1].get_alpha() < ax.patches[0].get_alpha()


@pytest.mark.parametrize(("lost", "after_last"), [(2.5, 0.5), (2.9, 0.1), (50, 0)])
def test_fits_without_a_model_stand_apart(lost, after_last):
    parts = seconds_by_activity(a_fit(used=9.0, lost=lost))

    assert parts["fits without a model"] == pytest.approx(min(lost, 3.1875))
    assert parts["after the last round"] == pytest.approx(after_last)
    assert sum(parts.values()) == pytest.approx(9.0)


def test_a_finished_round_without_an_exam_is_not_counted_twice():
    unexamined = a_round(3, examined=0, fresh=0, estimate=None, low=None, high=None, best=False)

    parts = seconds_by_activity(a_fit([a_round(1), a_round(2), unexamined], used=9.0, lost=1.5))

    assert "fits without a model" not in parts
    assert parts["fit"] == 3.0


def test_rounds_that_took_longer_than_the_fit_leave_no_other_time():
    """A backend with its own clock may count more seconds than passed here."""
    ax = viz.time_spent(a_fit(used=1.0), axes())

    assert [patch.get_width() for patch in ax.patches][-2:] == [0.0, 0.0]


def test_predicted_fit_times_are_drawn_against_actual_ones():
    second, third = a_round(2, predicted_fit=0.5, seconds_fit=0.6), a_round(3, predicted_fit=2.0, seconds_fit=1.5)

    ax = viz.fit_times(a_fit([a_round(1), second, third]), axes())

    assert points(ax) == [(0.5, 0.6), (2.0, 1.5)]
    assert texts_in(ax) == ["2", "3"]
    assert (ax.get_xscale(), ax.get_xlim()) == ("log", ax.get_ylim())


def test_predicted_setups_are_squares():
    setup = {"predicted_setup": 0.2, "seconds_setup": 0.3}
    rounds = [a_round(1, seconds_setup=0.1), a_round(2, predicted_fit=0.5, seconds_fit=0.6, **setup)]

    ax = viz.fit_times(a_fit(rounds), axes())

    assert points(ax, "#0072b2") == [(0.5, 0.6)]
    assert points(ax, "#b84a00", filled=False) == [(0.2, 0.3)]
    assert "the set-up of a fit" in legend_of(ax)
    assert ax.get_xlim()[0] < 0.2


@pytest.mark.parametrize("setup_seconds", [0.0, 1e-6])
def test_a_very_short_setup_does_not_squeeze_the_fits_into_a_corner(setup_seconds):
    rounds = [a_round(2, predicted_fit=2.0, seconds_fit=3.0, predicted_setup=0.1, seconds_setup=setup_seconds)]

    ax = viz.fit_times(a_fit(rounds), axes())

    assert (ax.get_xscale(), ax.get_xlim()[0]) == ("log", pytest.approx(2 / 45))
    ax.figure.draw_without_rendering()


def test_a_fit_time_of_zero_makes_the_scale_linear():
    ax = viz.fit_times(a_fit([a_round(2, predicted_fit=0.0, seconds_fit=0.0)]), axes())

    assert ax.get_xscale() == "linear"
    assert points(ax) == [(0.0, 0.0)]


def test_the_first_round_has_no_prediction():
    assert texts_in(viz.fit_times(a_fit([a_round(1)]), axes()))[0].startswith("No fit time was predicted")


def test_classes_are_drawn_with_their_shares_of_all_rows_and_of_the_training_rows():
    ax = viz.class_shares(a_fit(classes=("ham", "spam"), pool=(900, 100), taught=(300, 100)), axes())

    assert [label.get_text() for label in ax.get_yticklabels()] == ["spam", "ham"]
    assert points(ax, "#555555") == [(10.0, 0.0), (90.0, 1.0)]
    assert points(ax, "#0072b2") == [(25.0, 0.0), (75.0, 1.0)]


def test_a_class_without_training_rows_is_a_cross():
    ax = viz.class_shares(a_fit(pool=(900, 100), taught=(300, 0)), axes())

    assert points(ax, "#b84a00") == [(5.0, 0.0)]
    assert "no training rows" in legend_of(ax)


def test_of_many_classes_those_that_changed_most_are_drawn():
    pool = np.full(1000, 50)
    taught = np.full(1000, 5)
    taught[[7, 400, 999]] = 50, 0, 25

    ax = viz.class_shares(a_fit(classes=np.arange(1000), pool=pool, taught=taught), axes())

    names = [label.get_text() for label in ax.get_yticklabels()]
    assert len(names) == 14
    assert {"7", "400", "999"} <= set(names)
    assert "14 of 1,000 classes" in ax.get_xlabel()


def test_the_names_of_many_classes_leave_room_for_the_label_below_them():
    names = [f"a rather long class name {number}" for number in range(1000)]
    fit = a_fit(classes=names, pool=np.full(1000, 50), taught=np.full(1000, 5))

    ax = viz.class_shares(fit, axes((5.2, 3.4)))
    ax.figure.draw_without_rendering()

    label = ax.xaxis.label.get_window_extent()
    assert 0 <= label.x0 < label.x1 <= ax.figure.bbox.x1


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<script>alert(1)</script>", "<script>alert(1)</scr…"),
        ("$x^$", "$x^$"),
        ("_hidden", "_hidden"),
        ("bell\x07 and half\ud800", "bell� and half�"),
        ("two\nlines", "two lines"),
    ],
)
def test_class_names_are_drawn_as_text_whatever_they_contain(name, shown):
    ax = viz.class_shares(a_fit(classes=np.array([name, "zz"], dtype=object)), axes())

    ax.figure.draw_without_rendering()
    assert ax.get_yticklabels()[1].get_text() == shown


def test_a_regressor_has_no_classes():
    with pytest.raises(
        TypeError, match="Got TimeConstrainedRegressor; class_shares expects a fitted TimeConstrainedClassifier"
    ):
        viz.class_shares(a_fit(regressor=True), axes())
