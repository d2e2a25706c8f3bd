"""Google Cloud: billing exports."""
