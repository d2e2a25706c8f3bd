"""Alibaba Cloud: bill exports."""
