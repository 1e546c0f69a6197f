"""What more runs, questions and replicas ask of their stores."""
