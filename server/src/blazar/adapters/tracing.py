"""Traces for OpenTelemetry. Its libraries are an extra: this module is imported only where traces are
wanted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import metadata

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import SERVICE_NAME, SERVICE_VERSION, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from blazar.service.tracing import NO_TRACING, NOTHING, Attributes, Span

SECONDS = 5
"""How long it is tried to send some spans; they are dropped then. No program waits longer at its end."""
_HEADERS = TraceContextTextMapPropagator()


class OpenTelemetrySpan:
    """A span that is recorded, or would be if its trace were among those that are."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    @property
    def headers(self) -> Mapping[str, str]:
        found: dict[str, str] = {}
        _HEADERS.inject(found, trace.set_span_in_context(self._span))
        return found

    def tell(self, attributes: Attributes, name: str | None = None) -> None:
        self._span.set_attributes(attributes)
        if name is not None:
            self._span.update_name(name)


class OpenTelemetryTracing:
    """The Tracing of one program, with a provider of its own: nothing is global."""

    def __init__(self, program: str, processor: SpanProcessor, ratio: float = 1.0) -> None:
        """``ratio`` is the part of the traces that is recorded, those of other programs aside."""
        about = {SERVICE_NAME: program, SERVICE_VERSION: metadata.version("blazar")}
        self._provider = TracerProvider(
            resource=Resource.create(about), sampler=ParentBased(TraceIdRatioBased(ratio))
        )
        self._provider.add_span_processor(processor)
        self._tracer = self._provider.get_tracer("blazar")

    @contextmanager
    def entry(
        self, name: str, attributes: Attributes, received: Mapping[str, str] | None = None
    ) -> Iterator[Span]:
        # Out of a message of another program, so anything may stand there.
        told = received if isinstance(received, Mapping) else {}
        texts = {name: value for name, value in told.items() if isinstance(value, str)}
        before = _HEADERS.extract(texts, Context())
        with self._span(name, SpanKind.SERVER, attributes, before) as span:
            yield span

    @contextmanager
    def step(self, name: str, attributes: Attributes) -> Iterator[Span]:
        if not trace.get_current_span().get_span_context().is_valid:
            with NO_TRACING.step(name, NOTHING) as nothing:
                yield nothing
            return
        with self._span(name, SpanKind.CLIENT, attributes) as span:
            yield span

    @contextmanager
    def _span(
        self, name: str, kind: SpanKind, attributes: Attributes, before: Context | None = None
    ) -> Iterator[Span]:
        """An error is told by its type only: its words may hold what no trace should."""
        with self._tracer.start_as_current_span(
            name, before, kind, attributes, record_exception=False, set_status_on_exception=False
        ) as span:
            try:
                yield OpenTelemetrySpan(span)
            except Exception as error:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(StatusCode.ERROR)
                raise

    def close(self) -> None:
        self._provider.shutdown()


def sent_to(endpoint: str, program: str, ratio: float) -> OpenTelemetryTracing:
    """Return the Tracing that sends to a collector, by OTLP over HTTP, from a thread of its own."""
    sender = BatchSpanProcessor(OTLPSpanExporter(endpoint, timeout=SECONDS))
    return OpenTelemetryTracing(program, sender, ratio)
