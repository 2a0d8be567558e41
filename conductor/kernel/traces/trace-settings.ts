import { z } from 'zod';

const url = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });

/** OpenTelemetry's own settings of an exporter; part of the conductor's environment (`environment.ts`). */
export const traceEnvironment = {
  OTEL_EXPORTER_OTLP_ENDPOINT: url
    .optional()
    .describe('OpenTelemetry collector that gets traces of flows, at `/v1/traces` below it; default none'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url.optional().describe('whole URL for traces in place of that'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .literal('http/json', {
      error: 'must be http/json, what Baton sends; collectors take that on the port of OTLP/HTTP',
    })
    .default('http/json')
    .describe('how traces are sent'),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .default('')
    .describe('headers of these requests, percent-encoded: `authorization=Bearer%20X,x-tenant=7`'),
  OTEL_EXPORTER_OTLP_TIMEOUT: z.coerce
    .number()
    .int()
    .positive()
    .max(30_000)
    .default(10_000)
    .describe('milliseconds for the collector to answer'),
  OTEL_SERVICE_NAME: z.string().default('baton').describe('`service.name` of traces'),
  OTEL_RESOURCE_ATTRIBUTES: z
    .string()
    .default('')
    .describe('further attributes of who sends, percent-encoded: `deployment.environment=lab`'),
  OTEL_TRACES_EXPORTER: z
    .enum(['otlp', 'none'], { error: 'must be otlp or none' })
    .default('otlp')
    .describe('`none`: no traces, whatever else is set'),
  OTEL_SDK_DISABLED: z
    .enum(['true', 'false'], { error: 'must be true or false' })
    .default('false')
    .describe('`true`: the same'),
} as const;
type TraceEnvironment = z.infer<z.ZodObject<typeof traceEnvironment>>;

export interface TraceConfig {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Attributes of who sends. */
  readonly resource: Readonly<Record<string, string>>;
}

/** @returns what is wrong with the settings, one line each */
export function traceProblems(env: TraceEnvironment): string[] {
  return (['OTEL_EXPORTER_OTLP_HEADERS', 'OTEL_RESOURCE_ATTRIBUTES'] as const)
    .filter((name) => parsePairs(env[name]) === undefined)
    .map((name) => `${name}: must be name=value pairs, percent-encoded, with commas between them`);
}

/** From settings without problems; `undefined` = no traces. */
export function readTraceConfig(
  env: TraceEnvironment & { readonly BATON_CONDUCTOR_NAME: string },
  version: string,
): TraceConfig | undefined {
  const base = env.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, '');
  const to = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? (base === undefined ? undefined : `${base}/v1/traces`);
  if (to === undefined || env.OTEL_TRACES_EXPORTER === 'none' || env.OTEL_SDK_DISABLED === 'true') return undefined;
  return {
    url: to,
    headers: parsePairs(env.OTEL_EXPORTER_OTLP_HEADERS) ?? {},
    timeoutMs: env.OTEL_EXPORTER_OTLP_TIMEOUT,
    resource: {
      'service.version': version,
      'service.instance.id': env.BATON_CONDUCTOR_NAME,
      ...parsePairs(env.OTEL_RESOURCE_ATTRIBUTES),
      'service.name': env.OTEL_SERVICE_NAME,
    },
  };
}

/** W3C Baggage without properties, as OpenTelemetry reads these settings. `undefined` = it is none. */
function parsePairs(text: string): Record<string, string> | undefined {
  const pairs = text.split(',').filter((pair) => pair.trim() !== '');
  const parsed = pairs.map((pair) => /^\s*([^\s=]+)\s*=\s*(.*?)\s*$/.exec(pair));
  try {
    const entries = parsed.map((match) => [match?.[1] ?? '', decodeURIComponent(match?.[2] ?? '')] as const);
    // a header with a line's end would be two
    return entries.some(([name, value]) => name === '' || /[\r\n\0]/.test(value))
      ? undefined
      : Object.fromEntries(entries);
  } catch {
    return undefined;
  }
}
