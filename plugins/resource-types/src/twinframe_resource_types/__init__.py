"""The Graph, Flow, Assembler and Compass resource types of twinframe."""
