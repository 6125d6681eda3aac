"""Generated messages of the kubelet's plugin APIs, one module per API version.

The file paths differ although upstream calls each of them `api.proto`: the descriptor pool knows one file per path.
"""
