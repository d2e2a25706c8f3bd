"""Bills into the lake: gather files, stage them as lines, swap a billing period, record what it sums to."""
