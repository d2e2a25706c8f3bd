"""Reading bills and what people decided about them."""
