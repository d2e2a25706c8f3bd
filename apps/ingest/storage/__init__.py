"""Listings, logs and reports about storage: from files to the lake and to bands."""
