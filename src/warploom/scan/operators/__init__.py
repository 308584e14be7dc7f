"""From a loop to a proved operator: normal forms, closed families, laws, identities."""
