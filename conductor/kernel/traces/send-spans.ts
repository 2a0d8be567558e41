import type { TraceConfig } from '#conductor/kernel/traces/trace-settings.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { askPeerForStatus } from '#shared/peers/ask-peer.ts';

type Value = string | number | boolean;

/** One thing that took time, as OpenTelemetry has it. */
export interface Span {
  /** 32 and 16 hex digits. */
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: 'internal' | 'client';
  readonly start: Date;
  readonly end: Date;
  readonly attributes: Readonly<Record<string, Value | null>>;
  readonly events: readonly {
    readonly name: string;
    readonly at: Date;
    readonly attributes: Readonly<Record<string, Value | null>>;
  }[];
  /** The error that it has failed with. */
  readonly error: string | null;
}

const kinds = { internal: 1, client: 3 } as const;
const statusError = 2;

/**
 * Sends spans by OTLP/HTTP as JSON (opentelemetry.io/docs/specs/otlp).
 * @throws AppError `unavailable` when they may be sent again, `invalid_argument` when the collector does not want them
 */
export async function sendSpans(
  { url, headers, timeoutMs, resource }: TraceConfig,
  spans: readonly Span[],
  signal: AbortSignal,
): Promise<void> {
  const body = JSON.stringify({
    resourceSpans: [
      {
        resource: { attributes: attributesOf(resource) },
        scopeSpans: [{ scope: { name: 'baton' }, spans: spans.map(spanOf) }],
      },
    ],
  });
  const status = await askPeerForStatus('webhook', url, {
    who: 'the OpenTelemetry collector',
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body,
    timeoutMs,
    signal,
  }).catch((cause: unknown) => {
    throw new AppError('unavailable', `${url} did not take traces`, { cause });
  });
  if (status >= 200 && status < 300) return;
  const mayRepeat = status === 429 || (status >= 502 && status <= 504);
  throw new AppError(mayRepeat ? 'unavailable' : 'invalid_argument', `${url} answered traces with ${status}`);
}

function spanOf(span: Span): Record<string, unknown> {
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: kinds[span.kind],
    startTimeUnixNano: nanosOf(span.start),
    endTimeUnixNano: nanosOf(span.end),
    attributes: attributesOf(span.attributes),
    events: span.events.map(({ name, at, attributes }) => ({
      name,
      timeUnixNano: nanosOf(at),
      attributes: attributesOf(attributes),
    })),
    status: span.error === null ? {} : { code: statusError, message: span.error },
  };
}

/** Returns nanoseconds as text, which is how OTLP's JSON writes 64-bit numbers. */
const nanosOf = (time: Date): string => `${time.getTime()}000000`;

function attributesOf(attributes: Readonly<Record<string, Value | null>>): unknown[] {
  return Object.entries(attributes).flatMap(([key, value]) => (value === null ? [] : [{ key, value: valueOf(value) }]));
}

function valueOf(value: Value): Record<string, unknown> {
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'string') return { stringValue: value };
  return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}
