"""What people answer: schemas that questions ask for, forms, answers made into decisions."""
