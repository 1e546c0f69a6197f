"""Real clients in Node against a real server: `make e2e`."""

import pytest

pytest.register_assert_rewrite("tests.e2e.clients", "tests.e2e.target")
