"""HTTP: routes, server-sent events, problem details, and the built web page."""
