"""Code made from plans: what a structured op becomes where loops alone would be slow."""
