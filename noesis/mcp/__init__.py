"""The MCP server: the memory as tools, resources and a prompt, over HTTP and over stdio."""
