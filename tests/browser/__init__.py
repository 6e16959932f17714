"""A package, so that one Chromium serves its tests and ends with them (`scope="package"`)."""
