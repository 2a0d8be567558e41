import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createAdaptorServer } from '@hono/node-server';
import { Hono } from 'hono';

export interface SeenRequest {
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  readonly version: string | undefined;
  readonly bootToken: string | undefined;
  /** The reason why the machine was not attested. */
  readonly attestationProblem: string | undefined;
  readonly body: Readonly<Record<string, unknown>>;
}

export type Answer = { readonly status: number; readonly body?: unknown };

export interface FakeConductor {
  readonly url: string;
  readonly seen: readonly SeenRequest[];
  /** Sets what the next requests to a path get, before the usual answer. */
  answerNext(path: RegExp, ...answers: readonly Answer[]): void;
  /** Resolves with the requests to a path as soon as there are `count` of them. */
  requests(path: RegExp, count: number): Promise<readonly SeenRequest[]>;
  close(): Promise<void>;
}

export const fakeNodeUuid = 'c9228349-2174-4a1f-b5dd-1c6d659833c2';
export const fakeToken = 'fLvDB5X9xI2aDInEkdnbNyYhlVwJ5sTbigoQV6TeCv4';

/** Real Ironic's answer to a refused request. */
export function ironicFault(status: number, text: string): Answer {
  const fault = { faultcode: 'Client', faultstring: text, debuginfo: null };
  return { status, body: { error_message: JSON.stringify(fault) } };
}

/** A conductor's API for agents, as far as lookup, heartbeat and progress go, over real HTTP on loopback. */
export async function startFakeConductor(
  options: {
    readonly version?: string;
    readonly config?: Readonly<Record<string, unknown>>;
    /** Answers in place of the usual answer; `undefined` leaves it. */
    readonly answer?: (request: SeenRequest) => Promise<Answer | undefined>;
  } = {},
): Promise<FakeConductor> {
  const seen: SeenRequest[] = [];
  const queued: { readonly path: RegExp; readonly answer: Answer }[] = [];
  const waiting: (() => void)[] = [];
  const usual: readonly (readonly [RegExp, Answer])[] = [
    [/^\/$/, { status: 200, body: { default_version: { version: options.version ?? '1.96' } } }],
    [/^\/v1\/lookup$/, { status: 200, body: lookupBody(options.config) }],
    [/^\/v1\/heartbeat\//, { status: 202 }],
    [/^\/v1\/progress\//, { status: 204 }],
  ];
  const app = new Hono();
  app.all('*', async (c) => {
    const text = await c.req.text();
    const request: SeenRequest = {
      method: c.req.method,
      path: c.req.path,
      query: c.req.query(),
      version: c.req.header('x-openstack-ironic-api-version'),
      bootToken: c.req.header('x-baton-boot-token'),
      attestationProblem: c.req.header('x-baton-attestation-problem'),
      body: text === '' ? {} : (JSON.parse(text) as Record<string, unknown>),
    };
    seen.push(request);
    for (const wake of waiting.splice(0)) wake();
    const index = queued.findIndex(({ path }) => path.test(c.req.path));
    const answer =
      (index < 0 ? undefined : queued.splice(index, 1)[0]?.answer) ??
      (await options.answer?.(request)) ??
      usual.find(([path]) => path.test(c.req.path))?.[1] ??
      ironicFault(404, 'Resource could not be found.');
    return new Response(answer.body === undefined ? null : JSON.stringify(answer.body), { status: answer.status });
  });
  const server = createAdaptorServer({ fetch: app.fetch });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    seen,
    answerNext: (path, ...answers) => {
      queued.push(...answers.map((answer) => ({ path, answer })));
    },
    requests: async (path, count) => {
      for (;;) {
        const matching = seen.filter((request) => path.test(request.path));
        if (matching.length >= count) return matching;
        await new Promise<void>((resolve) => {
          waiting.push(resolve);
        });
      }
    },
    close: async () => {
      if ('closeAllConnections' in server) server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** Answer of a lookup that finds the node. */
export function lookupBody(config: Readonly<Record<string, unknown>> = {}): unknown {
  return {
    node: { uuid: fakeNodeUuid, properties: { cpu_arch: 'x86_64' }, instance_info: {}, driver_internal_info: {} },
    config: { heartbeat_timeout: 300, agent_token: fakeToken, agent_token_required: true, ...config },
  };
}
