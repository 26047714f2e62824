"""Where kafka-python has what SASL needs of its users."""
