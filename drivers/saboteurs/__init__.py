"""The registry of saboteurs: planted faults that prove that the checks can fail, by practice.

`python -m drivers.saboteurs` lists them, `--json` for machines.
"""

from drivers.saboteurs import downtime, drain, driver, liveness, rbac, rbac_driver, scale, upgrade
from drivers.saboteurs.model import Edit, Layer, Saboteur

__all__ = ["REGISTRY", "Edit", "Layer", "Saboteur"]

REGISTRY = {
    saboteur.id: saboteur
    for practice in (rbac, rbac_driver, driver, upgrade, downtime, liveness, drain, scale)
    for saboteur in practice.SABOTEURS
}
