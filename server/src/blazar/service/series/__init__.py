"""The use cases of series: make, show, change and cancel leases that recur, one module per story."""

from blazar.service.series.create import OccurrencePreview, SeriesPreview
from blazar.service.series.settings import SeriesSettings
from blazar.service.series.use_cases import SeriesDetails, SeriesUseCases

__all__ = ["OccurrencePreview", "SeriesDetails", "SeriesPreview", "SeriesSettings", "SeriesUseCases"]
