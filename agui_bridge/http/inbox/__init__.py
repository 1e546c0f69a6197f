"""The inbox page: what waits for people, each question with its form, and what was decided.

A further page is a module here with a handler `(Visit) -> Response`, a template in `templates/`,
a row in `routes.PAGES`, before the one of `/inbox/{reference}`, and a line in `page.NAVIGATION`
if every page should lead to it. `door` lets people in and refuses forged forms, so that a handler
only shows and decides.
"""
