"""The causes that come with the product."""
