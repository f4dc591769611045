"""What is known of a family of learners before its first fit."""

import numpy as np
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from fitwithin._core.cost import LearnerTraits
from fitwithin.backends._early_stopping.registry import KNOWN_LEARNERS, find_traits

TRAITS = {id(known.traits): known.traits for known in KNOWN_LEARNERS.values()}.values()
BOOSTERS = [
    CatBoostClassifier(verbose=0),
    HistGradientBoostingClassifier(),
    LGBMClassifier(),
    LGBMRegressor(),
    XGBClassifier(),
]
OTHERS = [
    DecisionTreeClassifier(),
    ExtraTreesClassifier(),
    GaussianNB(),
    KNeighborsClassifier(),
    LogisticRegression(),
    MLPClassifier(),
    RandomForestRegressor(),
    SGDClassifier(),
    SVC(),
]


def name(learner):
    return type(learner).__name__


@pytest.mark.parametrize("learner", BOOSTERS + OTHERS, ids=name)
def test_every_family_that_is_listed_is_found(learner):
    assert find_traits(learner) in TRAITS


@pytest.mark.parametrize("learner", BOOSTERS + OTHERS, ids=name)
def test_oversampling_is_the_default_of_boosters_only(learner):
    assert find_traits(learner).oversampling_pays is (learner in BOOSTERS)


def test_the_last_step_of_a_pipeline_is_the_learner():
    assert find_traits(make_pipeline(StandardScaler(), SVC())) == find_traits(SVC())


def test_a_subclass_is_of_the_family_of_its_parent():
    class OwnTree(DecisionTreeClassifier):
        pass

    assert find_traits(OwnTree()) == find_traits(DecisionTreeClassifier())


def test_a_learner_that_is_not_listed_has_the_defaults():
    class Own:
        pass

    assert find_traits(Own()) == LearnerTraits()


def test_a_kernel_machine_grows_faster_than_a_tree_and_a_tree_than_a_booster():
    growths = [find_traits(learner).growth for learner in (SVC(), DecisionTreeClassifier(), LGBMClassifier())]

    assert growths == sorted(growths, reverse=True)


@pytest.mark.parametrize("traits", [LearnerTraits(), *TRAITS])
def test_shares_are_shares_and_exponents_are_plausible(traits):
    shares = traits.first_growing_share, traits.model_growing_share, traits.worth_share

    assert all(0 <= share <= 1 for share in shares)
    assert 0 <= traits.least_share < traits.worth_share
    assert 0.5 <= traits.growth <= 2
    assert np.isfinite(traits.spread)
    assert traits.spread > 0
