"""Where bytes should lie: the whole bill of a storage class, online policies, their optimum."""
