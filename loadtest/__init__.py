"""Load on real replicas: nothing is executed twice, nothing is refused that should not be.

make load [SECONDS=60] [STORES='sqlite redis']
"""
