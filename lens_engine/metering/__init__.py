"""What a run costs: estimated before it; pairs, tokens, money and progress, counted in it. Nothing is chosen here."""
