"""The types that a model file may hold, by the loader of skops that creates them.

skops trusts every estimator of scikit-learn and every universal function of NumPy and SciPy, with each of its loaders.
fitwithin trusts the types below only: those whose methods stay within their arrays whatever the file says, either
because they are written in Python and NumPy, or because `fitwithin._core.model_file.model_checks` checks them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping


def _join(module: str, names: str) -> Iterable[str]:
    return (f"{module}.{name}" for name in names.split())


_LEARNERS = (
    *_join("fitwithin._presets", "LabelEncodedClassifier"),
    # They parse their own formats in C++, unchecked. See SECURITY.md.
    *_join("catboost.core", "CatBoostClassifier CatBoostRegressor"),
    *_join("lightgbm.basic", "Booster"),
    *_join("lightgbm.sklearn", "LGBMClassifier LGBMRegressor"),
    *_join("xgboost.core", "Booster"),
    *_join("xgboost.sklearn", "XGBClassifier XGBRegressor"),
    *_join("sklearn.dummy", "DummyClassifier DummyRegressor"),
    *_join("sklearn.discriminant_analysis", "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis"),
    *_join("sklearn.isotonic", "IsotonicRegression"),
    *_join("sklearn.linear_model._base", "LinearRegression"),
    *_join("sklearn.linear_model._bayes", "ARDRegression BayesianRidge"),
    *_join("sklearn.linear_model._coordinate_descent", "ElasticNet ElasticNetCV Lasso LassoCV"),
    *_join("sklearn.linear_model._glm.glm", "GammaRegressor PoissonRegressor TweedieRegressor"),
    *_join("sklearn.linear_model._huber", "HuberRegressor"),
    *_join("sklearn.linear_model._least_angle", "Lars LarsCV LassoLars LassoLarsCV LassoLarsIC"),
    *_join("sklearn.linear_model._logistic", "LogisticRegression LogisticRegressionCV"),
    *_join("sklearn.linear_model._omp", "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV"),
    *_join("sklearn.linear_model._passive_aggressive", "PassiveAggressiveClassifier PassiveAggressiveRegressor"),
    *_join("sklearn.linear_model._perceptron", "Perceptron"),
    *_join("sklearn.linear_model._quantile", "QuantileRegressor"),
    *_join("sklearn.linear_model._ransac", "RANSACRegressor"),
    *_join("sklearn.linear_model._ridge", "Ridge RidgeClassifier RidgeClassifierCV RidgeCV"),
    *_join("sklearn.linear_model._stochastic_gradient", "SGDClassifier SGDRegressor"),
    *_join("sklearn.linear_model._theil_sen", "TheilSenRegressor"),
    *_join("sklearn.naive_bayes", "BernoulliNB CategoricalNB ComplementNB GaussianNB MultinomialNB"),
    *_join("sklearn.neural_network._multilayer_perceptron", "MLPClassifier MLPRegressor"),
    *_join("sklearn.neural_network._stochastic_optimizers", "AdamOptimizer SGDOptimizer"),
    *_join("sklearn.svm._classes", "LinearSVC LinearSVR"),
)
"""Learners whose predictions are computed by NumPy, and the boosters."""


_CHECKED_LEARNERS = (
    *_join("sklearn.ensemble._bagging", "BaggingClassifier BaggingRegressor"),
    *_join(
        "sklearn.ensemble._forest",
        "ExtraTreesClassifier ExtraTreesRegressor RandomForestClassifier RandomForestRegressor",
    ),
    *_join("sklearn.ensemble._gb", "GradientBoostingClassifier GradientBoostingRegressor"),
    *_join("sklearn.ensemble._hist_gradient_boosting.binning", "_BinMapper"),
    *_join(
        "sklearn.ensemble._hist_gradient_boosting.gradient_boosting",
        "HistGradientBoostingClassifier HistGradientBoostingRegressor",
    ),
    *_join("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor"),
    *_join("sklearn.ensemble._weight_boosting", "AdaBoostClassifier AdaBoostRegressor"),
    *_join("sklearn.neighbors._classification", "KNeighborsClassifier"),
    *_join("sklearn.neighbors._regression", "KNeighborsRegressor"),
    *_join("sklearn.svm._classes", "NuSVC NuSVR SVC SVR"),
    *_join(
        "sklearn.tree._classes", "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor"
    ),
)
"""Learners that follow indices in compiled code without bounds checks; `model_checks` checks these first."""


_COMBINATIONS = (
    *_join("sklearn.calibration", "CalibratedClassifierCV _CalibratedClassifier _SigmoidCalibration"),
    *_join("sklearn.compose._column_transformer", "ColumnTransformer"),
    # A list that warns, in which scikit-learn before 1.7 keeps the remaining columns.
    *_join("sklearn.compose._column_transformer", "_RemainderColsList"),
    *_join("sklearn.compose._target", "TransformedTargetRegressor"),
    *_join("sklearn.ensemble._stacking", "StackingClassifier StackingRegressor"),
    *_join("sklearn.ensemble._voting", "VotingClassifier VotingRegressor"),
    *_join("sklearn.metrics._scorer", "_PassthroughScorer"),
    *_join("sklearn.model_selection._search", "GridSearchCV RandomizedSearchCV"),
    *_join("sklearn.model_selection._split", "KFold StratifiedKFold"),
    *_join("sklearn.multiclass", "OneVsOneClassifier OneVsRestClassifier OutputCodeClassifier _ConstantPredictor"),
    *_join("sklearn.multioutput", "ClassifierChain MultiOutputClassifier MultiOutputRegressor RegressorChain"),
    *_join("sklearn.pipeline", "FeatureUnion Pipeline"),
)
"""Learners made of other learners, and what they keep."""


_TRANSFORMERS = (
    *_join("sklearn.decomposition._incremental_pca", "IncrementalPCA"),
    *_join("sklearn.decomposition._pca", "PCA"),
    *_join("sklearn.decomposition._truncated_svd", "TruncatedSVD"),
    *_join("sklearn.feature_extraction.text", "CountVectorizer TfidfTransformer TfidfVectorizer"),
    *_join("sklearn.feature_selection._from_model", "SelectFromModel"),
    *_join("sklearn.feature_selection._univariate_selection", "SelectKBest SelectPercentile"),
    *_join("sklearn.feature_selection._variance_threshold", "VarianceThreshold"),
    *_join("sklearn.impute._base", "MissingIndicator SimpleImputer"),
    *_join(
        "sklearn.preprocessing._data",
        "Binarizer MaxAbsScaler MinMaxScaler Normalizer PowerTransformer QuantileTransformer RobustScaler "
        "StandardScaler",
    ),
    *_join("sklearn.preprocessing._discretization", "KBinsDiscretizer"),
    *_join("sklearn.preprocessing._encoders", "OneHotEncoder OrdinalEncoder"),
    *_join("sklearn.preprocessing._function_transformer", "FunctionTransformer"),
    *_join("sklearn.preprocessing._label", "LabelBinarizer LabelEncoder"),
    *_join("sklearn.preprocessing._polynomial", "PolynomialFeatures"),
    *_join("sklearn.preprocessing._target_encoder", "TargetEncoder"),
)
"""Steps before a learner."""


_LOSSES = (
    # It has no state. Older versions of skops have no loader of its own for it.
    *_join("sklearn._loss._loss", "CyHalfMultinomialLoss"),
    *_join("sklearn._loss.link", "HalfLogitLink IdentityLink Interval LogitLink LogLink MultinomialLogit"),
    *_join(
        "sklearn._loss.loss",
        "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss HalfPoissonLoss "
        "HalfSquaredError HalfTweedieLossIdentity HuberLoss PinballLoss",
    ),
)
"""Losses of boosting and of generalized linear models, and their links."""


_COMPILED_LOSSES = (
    *_join(
        "sklearn._loss._loss",
        "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss CyHalfMultinomialLoss CyHalfPoissonLoss "
        "CyHalfSquaredError CyHalfTweedieLossIdentity CyHuberLoss CyPinballLoss",
    ),
    *_join(
        "sklearn.linear_model._sgd_fast",
        "EpsilonInsensitive Hinge Huber Log ModifiedHuber SquaredEpsilonInsensitive SquaredHinge SquaredLoss",
    ),
)


SCALARS = frozenset(
    _join("numpy", "bool bool_ float16 float32 float64 int8 int16 int32 int64 str_ uint8 uint16 uint32 uint64")
)
"""Scalars of NumPy. Not numpy.void, which takes its size from its argument."""


_SPARSE_MATRICES = (
    *_join("scipy.sparse._coo", "coo_array coo_matrix"),
    *_join("scipy.sparse._csc", "csc_array csc_matrix"),
    *_join("scipy.sparse._csr", "csr_array csr_matrix"),
)


_FUNCTIONS = (
    *_join("numpy", "absolute cbrt exp expm1 log log10 log1p log2 negative reciprocal sqrt square"),
    *_join("sklearn.feature_selection._univariate_selection", "chi2 f_classif f_regression"),
)
"""Functions of one array, for FunctionTransformer and SelectKBest."""


TYPES_BY_LOADER: Mapping[str, frozenset[str]] = {
    "BytearrayNode": frozenset({"builtins.bytearray"}),
    "BytesNode": frozenset({"builtins.bytes"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "DefaultDictNode": frozenset({"collections.defaultdict"}),
    "DictNode": frozenset({"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"}),
    "FunctionNode": frozenset(_FUNCTIONS),
    "JsonNode": frozenset({"builtins.str"}),
    "ListNode": frozenset({"builtins.list"}),
    "LossNode": frozenset(_COMPILED_LOSSES),
    "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"}),
    "NdArrayNode": frozenset({"numpy.ndarray", *SCALARS}),
    "ObjectNode": frozenset({*_LEARNERS, *_CHECKED_LEARNERS, *_COMBINATIONS, *_TRANSFORMERS, *_LOSSES}),
    "RandomGeneratorNode": frozenset({"numpy.random._generator.Generator"}),
    "RandomStateNode": frozenset({"numpy.random.mtrand.RandomState"}),
    "SetNode": frozenset({"builtins.set"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "SparseMatrixNode": frozenset(_SPARSE_MATRICES),
    "TreeNode": frozenset({"sklearn.tree._tree.Tree"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "TypeNode": frozenset(
        {
            *_join("builtins", "bool dict float int str"),
            "builtins.NoneType",
            "collections.OrderedDict",
            *SCALARS,
        }
    ),
}
"""Full names of types, by the name of the loader that may create them. A type is trusted with that loader only."""


TRUSTED_TYPES: frozenset[str] = frozenset().union(*TYPES_BY_LOADER.values())
"""Full names of all trusted types."""
