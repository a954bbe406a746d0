"""What is compared between groups: predictions as numbers, and which rows count."""
