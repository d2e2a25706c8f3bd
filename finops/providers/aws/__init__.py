"""Amazon Web Services: Spot prices live, price lists, instance type facts, interruption bands, transfer
prices.
"""
