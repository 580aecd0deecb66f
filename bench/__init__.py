"""What playhead costs, measured: `python -m bench`. Nothing of the product imports this."""
