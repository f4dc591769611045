"""Axes to draw on, and what they show."""


def axes(size_inches=None):
    from matplotlib.figure import Figure  # there may be no matplotlib

    return Figure(size_inches, layout="constrained").subplots()


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]
