"""Commitments: terms and their cost, what is covered already, what to buy, keep and sell.

Pure decisions over the frames `offers`, `commitments` and `demand`; see docs/algorithms/commitments.md and
deals.md.
"""
