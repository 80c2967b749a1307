"""The server: the OpenAI-compatible API, the page, and MCP. May import anything; nobody imports it but the command line."""
