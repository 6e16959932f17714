"""The rooms behind RagDoc's four doors; docs/architecture.md is the map."""
