"""The use cases of offers: hold what a lease needs, read, claim and give back, one module per story."""

from blazar.service.offers.settings import OfferSettings
from blazar.service.offers.use_cases import Offers

__all__ = ["OfferSettings", "Offers"]
