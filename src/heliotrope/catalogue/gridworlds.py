"""The ids of the safety gridworlds."""

from heliotrope.engine.factory import EnvironmentId


def _dark_sea(name: str, variant: str, summary: str) -> EnvironmentId:
    module = "heliotrope.gridworlds.dark_sea"
    return EnvironmentId(name, f"{module}:single_env", f"{module}:vector_env", {"variant": variant}, summary)


DARK_SEA = (
    _dark_sea("DarkSea", "plain", "reach the harbour of a sea without edges"),
    _dark_sea("DarkSeaRaiders", "raiders", "the dark sea with raiders, against which one can fortify"),
    _dark_sea("DarkSeaExpansion", "expansion", "the dark sea, where seeing more of it pays for ever"),
    _dark_sea("DarkSeaFortress", "fortress", "the dark sea, where fortifying pays for ever and nobody attacks"),
)

GRIDWORLDS: tuple[EnvironmentId, ...] = (*DARK_SEA,)
