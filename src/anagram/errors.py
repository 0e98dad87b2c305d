"""The errors a user can meet. Every message names what is wrong and what to do about it."""


class AnagramError(Exception):
    """Base of every error that this package raises on purpose."""


class ProblemError(AnagramError, ValueError):
    """The problem, as stated, cannot be meant: an axis, a face, a source or an operator does not fit."""


class SettingError(AnagramError, ValueError):
    """An option of a run (model, method, points, budget) is not usable."""


class FileError(AnagramError, OSError):
    """A file or folder cannot be read, written or trusted."""


class MissingError(AnagramError, ImportError):
    """A package that only this feature needs is not installed."""


class ProcessError(AnagramError, RuntimeError):
    """The processes that share a run did not come together, or one of them has gone."""


class ProblemWarning(UserWarning):
    """The problem can be solved as it is stated, but it is probably not the one that is meant."""


class PointsWarning(UserWarning):
    """The batch is too small for the model: the loss may vanish on the points and nowhere else."""


class RunWarning(UserWarning):
    """A run goes on although something is amiss: a checkpoint cannot be written, or versions have changed."""


class EstimateWarning(UserWarning):
    """The error was estimated, but not in a way that can be relied on."""


class DataWarning(UserWarning):
    """Data do not determine what is sought, or contradict what was said of their noise."""
