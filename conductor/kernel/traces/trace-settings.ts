import { z } from 'zod';
import { describeSettingProblems } from '#conductor/kernel/describe-setting-problems.ts';

/**
 * OpenTelemetry's own settings of an exporter; part of the conductor's environment (`environment.ts`). Any text will do
 * while there are no traces: platforms set them for all that they run.
 */
export const traceEnvironment = {
  OTEL_EXPORTER_OTLP_ENDPOINT: z
    .string()
    .optional()
    .describe('OpenTelemetry collector that gets traces of flows, at `/v1/traces` below it; default none'),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: z.string().optional().describe('whole URL for traces in place of that'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z.string().default('http/json').describe('how traces are sent'),
  OTEL_EXPORTER_OTLP_HEADERS: z
    .string()
    .default('')
    .describe('headers of these requests, percent-encoded: `authorization=Bearer%20X,x-tenant=7`'),
  OTEL_EXPORTER_OTLP_TIMEOUT: z.string().default('10000').describe('milliseconds for the collector to answer'),
  OTEL_SERVICE_NAME: z
    .string()
    .optional()
    .describe('`service.name` of traces; default that of `OTEL_RESOURCE_ATTRIBUTES`, else `baton`'),
  OTEL_RESOURCE_ATTRIBUTES: z
    .string()
    .default('')
    .describe('further attributes of who sends, percent-encoded: `deployment.environment=lab`'),
  OTEL_TRACES_EXPORTER: z.string().default('otlp').describe('`none`: no traces, whatever else is set'),
  OTEL_SDK_DISABLED: z.string().default('false').describe('`true`: the same'),
} as const;
type TraceEnvironment = z.infer<z.ZodObject<typeof traceEnvironment>>;

const url = z.url({ protocol: /^https?$/, error: 'must be an http:// or https:// URL' });
const pairs = z.string().transform((text, context) => {
  const parsed = parsePairs(text);
  if (parsed) return parsed;
  context.addIssue('must be name=value pairs, percent-encoded, with commas between them');
  return z.NEVER;
});

/** Values that the settings must have for traces to be sent. */
const Used = z.object({
  OTEL_EXPORTER_OTLP_ENDPOINT: url.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: url.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z.literal('http/json', {
    error: 'must be http/json, what Baton sends; collectors take that on the port of OTLP/HTTP',
  }),
  OTEL_EXPORTER_OTLP_HEADERS: pairs,
  OTEL_EXPORTER_OTLP_TIMEOUT: z.coerce.number().int().min(1).max(30_000),
  OTEL_SERVICE_NAME: z.string().optional(),
  OTEL_RESOURCE_ATTRIBUTES: pairs,
  OTEL_TRACES_EXPORTER: z.literal('otlp', { error: 'must be otlp or none' }),
  OTEL_SDK_DISABLED: z.stringFormat('boolean', /^false$/i, { error: 'must be true or false' }),
});

export interface TraceConfig {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly timeoutMs: number;
  /** Attributes of who sends. */
  readonly resource: Readonly<Record<string, string>>;
}

function areWanted(env: TraceEnvironment): boolean {
  const isGiven = env.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? env.OTEL_EXPORTER_OTLP_ENDPOINT;
  const isOff = env.OTEL_TRACES_EXPORTER === 'none' || env.OTEL_SDK_DISABLED.toLowerCase() === 'true';
  return isGiven !== undefined && !isOff;
}

/** @returns what is wrong with the settings, one line each; nothing while there are no traces */
export function traceProblems(env: TraceEnvironment): string[] {
  if (!areWanted(env)) return [];
  return describeSettingProblems(Used.safeParse(env).error?.issues ?? [], Used.shape, env);
}

/** Reads the configuration from settings without problems; `undefined` = no traces. */
export function readTraceConfig(
  env: TraceEnvironment & { readonly BATON_CONDUCTOR_NAME: string },
  version: string,
): TraceConfig | undefined {
  if (!areWanted(env)) return undefined;
  const used = Used.parse(env);
  const base = used.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/+$/, '') ?? '';
  const { OTEL_SERVICE_NAME: service } = used;
  return {
    url: used.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ?? `${base}/v1/traces`,
    headers: used.OTEL_EXPORTER_OTLP_HEADERS,
    timeoutMs: used.OTEL_EXPORTER_OTLP_TIMEOUT,
    resource: {
      'service.name': 'baton',
      'service.version': version,
      'service.instance.id': env.BATON_CONDUCTOR_NAME,
      ...used.OTEL_RESOURCE_ATTRIBUTES,
      ...(service === undefined ? {} : { 'service.name': service }),
    },
  };
}

/**
 * Parses W3C Baggage without properties, in OpenTelemetry's way of reading these settings. `undefined` = the text is none.
 */
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
