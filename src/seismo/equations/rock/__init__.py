"""Rock: elastic constants, wave speeds, relaxation mechanisms and the loss that they make."""
