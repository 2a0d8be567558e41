import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const hex = (digits: number) => z.string().regex(new RegExp(`^[0-9a-f]{${digits}}$`));
const nanos = z.string().regex(/^\d{19}$/);
const value = z.union([
  z.strictObject({ stringValue: z.string() }),
  z.strictObject({ boolValue: z.boolean() }),
  z.strictObject({ intValue: z.string().regex(/^-?\d+$/) }),
  z.strictObject({ doubleValue: z.number() }),
]);
const attributes = z
  .array(z.strictObject({ key: z.string().min(1), value }))
  .transform((all) => Object.fromEntries(all.map((each) => [each.key, Object.values(each.value)[0]])));
/** ExportTraceServiceRequest, opentelemetry-proto's `trace.proto` as its JSON mapping has it. */
const Request = z.strictObject({
  resourceSpans: z.array(
    z.strictObject({
      resource: z.strictObject({ attributes }),
      scopeSpans: z.array(
        z.strictObject({
          scope: z.strictObject({ name: z.string() }),
          spans: z.array(
            z.strictObject({
              traceId: hex(32),
              spanId: hex(16),
              parentSpanId: hex(16).optional(),
              name: z.string().min(1),
              kind: z.number().int().min(1).max(5),
              startTimeUnixNano: nanos,
              endTimeUnixNano: nanos,
              attributes,
              events: z.array(z.strictObject({ name: z.string(), timeUnixNano: nanos, attributes })),
              status: z.strictObject({ code: z.number().int().optional(), message: z.string().optional() }),
            }),
          ),
        }),
      ),
    }),
  ),
});
export type ReceivedSpan = z.infer<typeof Request>['resourceSpans'][number]['scopeSpans'][number]['spans'][number];

/** A receiver of traces by OTLP/HTTP that takes nothing but what the protocol has. */
export interface TraceReceiver {
  readonly url: string;
  readonly spans: ReceivedSpan[];
  readonly resources: Record<string, unknown>[];
  readonly headers: IncomingHttpHeaders[];
  /** Faults of what was sent. */
  readonly faults: string[];
  /** Answered in place of 200, one after another. */
  readonly statuses: number[];
  close(): Promise<void>;
}

export async function startTraceReceiver(): Promise<TraceReceiver> {
  const received = { spans: [] as ReceivedSpan[], resources: [] as Record<string, unknown>[], faults: [] as string[] };
  const [headers, statuses]: [IncomingHttpHeaders[], number[]] = [[], []];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      headers.push(request.headers);
      const status = statuses.shift() ?? 200;
      if (status === 200) take(`${request.method} ${request.url}`, Buffer.concat(parts).toString());
      response.writeHead(status, { 'content-type': 'application/json' }).end('{}');
    });
  });
  const take = (line: string, body: string): void => {
    const parsed = Request.safeParse(JSON.parse(body));
    if (line !== 'POST /v1/traces') received.faults.push(line);
    if (!parsed.success) received.faults.push(parsed.error.message);
    for (const { resource, scopeSpans } of parsed.data?.resourceSpans ?? []) {
      received.resources.push(resource.attributes);
      received.spans.push(...scopeSpans.flatMap(({ spans }) => spans));
    }
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...received,
    headers,
    statuses,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
