"""Changes of MySQL and MariaDB databases, from their binary logs."""
