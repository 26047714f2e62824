"""Other libraries' own test suites, run against kafkapy's packages under their names."""
