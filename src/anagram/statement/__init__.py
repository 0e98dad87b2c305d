"""What a user writes: fields, conditions on regions of a domain, problems."""
