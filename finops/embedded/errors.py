"""What goes wrong on one machine, as single sentences for the person at the terminal."""


class EmbeddedError(Exception):
    """A sentence that says what is wrong and what to do; shown without a traceback."""


class AlreadyRunningError(EmbeddedError):
    """A supervisor of the same home is alive."""
