"""fitwithin train."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from fitwithin._cli.errors import explained, require
from fitwithin._cli.options import Debug, Force, Json, limit_of
from fitwithin._presets import CLASSIFIERS

_LEARNERS = [name for name in CLASSIFIERS if not name.startswith("sgd")]


Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", show_default=False, help="parquet, feather, CSV (.gz, .bz2, .xz, .zst), .npz, svmlight or ARFF."
    ),
]


Target = Annotated[str | None, typer.Option(metavar="COLUMN", help="What to learn; svmlight files say it themselves.")]


Limit = Annotated[str, typer.Option(metavar="TIME", help="Seconds, or text such as 90s, 15m, 1h30m.")]


Learner = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"{', '.join(_LEARNERS)}, or package.module:factory.",
        autocompletion=lambda incomplete: [name for name in CLASSIFIERS if name.startswith(incomplete)],
    ),
]


Teacher = Annotated[str, typer.Option(help="auto, tct, double, osct, tct_al, sgd or full.")]


Scoring = Annotated[str | None, typer.Option(help="A scorer of scikit-learn; accuracy, or r2 for values.")]


Test = Annotated[Path | None, typer.Option(metavar="FILE", help="Rows to test the model on, with the same columns.")]


Out = Annotated[Path, typer.Option(metavar="FILE", help="Where to write the model.")]


Report = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Where to write a page about it, such as report.html.")
]


Seed = Annotated[
    int | None,
    typer.Option(min=0, max=2**32 - 1, help="Seed of every random choice, the learner's included."),
]


Task = Annotated[
    str,
    typer.Option(
        help="classification, regression or auto: words, truth values and up to 100 whole numbers are classes."
    ),
]


MaxClasses = Annotated[int, typer.Option(min=2, help="A target with more classes is refused.")]


Jobs = Annotated[int, typer.Option(min=-1, help="Cores for the learner; -1 for all.")]


StoredByPickle = Annotated[
    bool,
    typer.Option(
        "--unsafe-pickle", help="Store by pickle; done anyway, with a note, if skops can't store the learner."
    ),
]


Strict = Annotated[bool, typer.Option("--limit-includes-reading", help="Count reading and encoding the file too.")]


def train(
    data: Data,
    target: Target = None,
    time_limit: Limit = "60s",
    learner: Learner = "hist-gradient-boosting",
    teacher: Teacher = "auto",
    scoring: Scoring = None,
    test: Test = None,
    out: Out = Path("model.skops"),
    report: Report = None,
    seed: Seed = None,
    task: Task = "auto",
    max_classes: MaxClasses = 1000,
    jobs: Jobs = -1,
    limit_includes_reading: Strict = False,
    unsafe_pickle: StoredByPickle = False,
    force: Force = False,
    json: Json = False,
    debug: Debug = False,
) -> None:
    """Train the best model that the time allows on a file, and store it.

    Ctrl-C ends the training at once, and keeps the best model so far.

    Exit codes: 0 a model, 2 wrong usage, 3 no model in time, 130 interrupted before there was one, 1 all else.

    Example: fitwithin train rows.parquet --target label --time-limit 15m --learner lightgbm --out model.skops
    """
    with explained(debug=debug):
        require("pandas", "pyarrow", "skops", *(["matplotlib"] if report is not None else []))
        from fitwithin._cli.train_options import Order
        from fitwithin._cli.train_run import carry_out

        order = Order(
            data=data,
            target=target,
            seconds=limit_of(time_limit),
            learner=learner,
            teacher=teacher,
            scoring=scoring,
            test=test,
            out=out,
            report=report,
            seed=seed,
            task=task,
            max_classes=max_classes,
            jobs=jobs,
            includes_reading=limit_includes_reading,
            by_pickle=unsafe_pickle,
            force=force,
        )
        carry_out(order, as_json=json)
