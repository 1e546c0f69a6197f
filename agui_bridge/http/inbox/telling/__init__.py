"""What is told of questions: states, history, outcomes, times, and other people's texts."""
