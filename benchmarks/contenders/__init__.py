"""What is measured: bridges and others as servers, and the stores behind them."""
