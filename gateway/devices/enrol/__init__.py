"""Who may report: keys, limits and budgets."""
