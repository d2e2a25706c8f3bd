"""Tencent Cloud: bill exports."""
