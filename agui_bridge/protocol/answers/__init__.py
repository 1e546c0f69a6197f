"""What people answer: questions, forms, answers made into decisions."""
