"""Parts of addresses."""


class IdConverter:
    """A row's id: positive, without leading zeros, small enough for a bigint column."""

    regex = "[1-9][0-9]{0,17}"

    def to_python(self, value: str) -> int:
        """The number."""
        return int(value)

    def to_url(self, value: int) -> str:
        """The digits."""
        return str(value)
