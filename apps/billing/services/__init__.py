"""Writing what people decide about bills, and deliveries."""
