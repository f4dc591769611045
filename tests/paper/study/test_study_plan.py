"""The plan lists the runs and refuses unknown names."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import SGDClassifier

from fitwithin.teachers import OSCT, SGD, TCT
from fitwithin_paper.study.plan import (
    PAPER_ALPHAS,
    PAPER_LEARNERS,
    PAPER_TEACHERS,
    STUDY_TEACHERS,
    RunSpec,
    StudyList,
    can_teach,
)


def test_the_plan_of_the_paper_has_its_learners_teachers_and_seeds():
    plan = StudyList(("covtype",))

    assert plan.learners == ("lightgbm", "random-forest", "decision-tree", "linear-svm", "logistic-regression")
    assert plan.seeds == (0, 1, 2, 3)
    assert plan.full_runs == 4
    assert plan.min_seconds == 10.0
    assert {"full", "double", "tct", "osct", "osct-best", "osct-half-percent", "tct_al", "sgd"} < set(plan.teachers)


def test_every_alpha_of_the_papers_table_has_a_teacher():
    teachers = [STUDY_TEACHERS[name]() for name in PAPER_TEACHERS]
    alphas = [teacher.alpha for teacher in teachers if type(teacher) is TCT]

    assert sorted(alphas) == sorted(PAPER_ALPHAS) == [0.05, 0.1, 0.2, 0.3, 0.45, 0.6, 0.9]


def test_the_variants_of_osct_are_the_papers():
    variants = {name: STUDY_TEACHERS[name]() for name in ("osct", "osct-best", "osct-half-percent")}

    assert {name: (osct.guess, osct.returns) for name, osct in variants.items() if isinstance(osct, OSCT)} == {
        "osct": (2, "last"),
        "osct-best": (2, "best"),
        "osct-half-percent": ("half-percent", "last"),
    }


@pytest.mark.parametrize(
    ("learner", "loss", "batch"), [("linear-svm", "hinge", 256), ("logistic-regression", "log_loss", 512)]
)
def test_mini_batches_are_for_a_learner_of_the_same_loss_in_the_papers_best_size(learner, loss, batch):
    stand_in, teacher = RunSpec("covtype", learner, "sgd", 0).build()

    assert isinstance(stand_in, SGDClassifier)
    assert stand_in.loss == loss
    assert isinstance(teacher, SGD)
    assert teacher.batch == batch
    assert RunSpec("covtype", learner, "sgd-64", 0).build()[1].batch == 64


@given(teacher=st.sampled_from(sorted(STUDY_TEACHERS)), learner=st.sampled_from(PAPER_LEARNERS))
def test_every_compatible_pair_can_be_built(teacher, learner):
    if can_teach(teacher, learner):
        learner_instance, teaching = RunSpec("covtype", learner, teacher, 0).build()
        assert all(hasattr(learner_instance, method) for method in getattr(teaching, "needs", ()))


def test_a_learner_without_probabilities_or_mini_batches_skips_teachers_that_need_them():
    assert "tct_al" not in {spec.teacher for spec in StudyList(("covtype",)).list_limited_runs("covtype", "linear-svm")}
    assert "sgd" not in {spec.teacher for spec in StudyList(("covtype",)).list_limited_runs("covtype", "random-forest")}


def test_no_run_is_planned_twice_and_full_trainings_come_first():
    plan = StudyList(("covtype",), full_runs=3)
    specs = plan.list_full_runs("covtype", "lightgbm") + plan.list_limited_runs("covtype", "lightgbm")

    assert len(set(specs)) == len(specs)
    assert [spec.teacher for spec in specs].count("full") == 3


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"learners": ("svm",)}, "Unknown learner 'svm'; known are lightgbm"),
        ({"teachers": ("tct", "tcp")}, "Unknown teacher 'tcp'; known are full, double, tct"),
        ({"teachers": ()}, "No teacher"),
    ],
)
def test_unknown_names_list_the_known_ones(field, message):
    with pytest.raises(ValueError, match=message):
        StudyList(("covtype",), **field)
