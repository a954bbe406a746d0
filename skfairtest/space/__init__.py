"""Which inputs exist: columns, domains, sensitive values, constraints; tables to codes and back."""
