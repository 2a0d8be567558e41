import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { type AgentClient, createAgentClients, saysItLacks } from '#conductor/agents/agent-client.ts';
import { askForSteps, callAgent } from '#conductor/agents/ask-agent.ts';
import { checkToken } from '#conductor/agents/record-heartbeat.ts';
import { checkCommand } from '#conductor/flows/conductor-steps/run-agent-step.ts';
import type { StepContext } from '#conductor/flows/step-context.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import type { NodeRow } from '#conductor/kernel/db/schema/node.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { stepKey } from '#conductor/model/flows/planned-step.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';
import { Heartbeat } from '#shared/wire/agent-calls.ts';
import { type StepKind, stepKinds } from '#shared/wire/step.ts';
import { type Recording, readRecordings } from '#test/recorded/read-recordings.ts';
import { readRecordedAnswer } from '#test/support/recorded-answer.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

/** Answers of releases of ironic-python-agent over HTTP, and what the conductor makes of them. */

const Reading = z.strictObject({
  asked: z.string(),
  answer: z.string(),
  /** The thing that the agent says it does not have. */
  lacks: z.string().optional(),
});
type Reading = z.infer<typeof Reading>;

const recordings = await readRecordings('agents', Reading);
const nodeUuid = '6f1b3a52-0000-4000-8000-000000000001';
const stepUuid = '11111111-1111-4111-8111-111111111111';
const token = '0123456789abcdefghijklmnopqrstuvwxyzABCDEFG';
let server: Server;
let outputs: Recording<Reading>['outputs'] = {};
const unasked: string[] = [];

beforeAll(async () => {
  server = createServer((request, response) => {
    let sent = '';
    request.on('data', (part: Buffer) => {
      sent += part.toString();
    });
    request.on('end', () => {
      const asked = request.method === 'GET' ? 'GET commands' : `POST ${(JSON.parse(sent) as { name: string }).name}`;
      const text = outputs[asked];
      if (text === undefined) unasked.push(asked);
      const { status, headers, body } = readRecordedAnswer(text ?? 'HTTP/1.1 500 not recorded');
      response.writeHead(status, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const session = (): AgentSessionRow => ({
  nodeUuid,
  token: testSecrets.seal(token, nodePlace(nodeUuid, 'agent_token')),
  callbackUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
  certificate: null,
  version: '1',
  createdAt: new Date(0),
  lastHeartbeatAt: null,
  bootMac: null,
  bootSource: null,
  served: null,
  attestation: null,
});
const node = {
  uuid: nodeUuid,
  driverInfo: {},
  properties: {},
  instanceInfo: {},
  extra: {},
  sparedDisks: null,
} as unknown as NodeRow;

async function askSteps(agent: AgentClient, kind: string): Promise<string> {
  const context = { agent: () => agent, secrets: testSecrets, node, ports: () => Promise.resolve([]) };
  const asked = stepKinds.find((each): each is StepKind => each === kind) ?? 'deploy';
  const offer = await askForSteps(context, asked);
  if (offer.lacksExtension) return 'none, it has no such extension';
  return offer.advertised.map(stepKey).join(', ');
}

async function askWhatBecameOf(agent: AgentClient, command: string): Promise<string> {
  const outcome = await checkCommand(
    {
      agent: () => agent,
      node: { powerHold: null },
      step: { uuid: stepUuid, step: 'step' },
      flow: { kind: 'deploy' },
      session: { lastHeartbeatAt: new Date() },
      clock: { now: () => new Date() },
      config: { stepTimeoutMs: Infinity, callbackTimeoutMs: 60_000 },
    } as unknown as StepContext,
    command,
  );
  if (outcome.kind !== 'done') return outcome.kind;
  const output = 'output' in outcome ? outcome.output : undefined;
  return `done: ${typeof output === 'string' ? output : JSON.stringify(output)}`;
}

function takeHeartbeat(text: string): string {
  const heartbeat = Heartbeat.parse(JSON.parse(text));
  checkToken(testSecrets, session(), heartbeat.agent_token);
  return 'taken';
}

async function read({ outputs: recorded, reading }: Recording<Reading>): Promise<Reading> {
  outputs = recorded;
  const rules = { setting: 'BATON_AGENT_NETWORKS', allow: undefined, allowLoopback: true, connectsHere: true } as const;
  const agents = createAgentClients(testSecrets, rules);
  const agent = agents.clientFor(session(), new AbortController().signal);
  const subject = reading.asked.split(' ').at(-1) ?? '';
  try {
    const answer = reading.asked.startsWith('steps of ')
      ? await askSteps(agent, subject)
      : reading.asked.startsWith('what became of ')
        ? await askWhatBecameOf(agent, subject)
        : reading.asked.startsWith('the call ')
          ? JSON.stringify(await callAgent(agent, 'ask', subject))
          : takeHeartbeat(recorded['heartbeat'] ?? '');
    return { asked: reading.asked, answer };
  } catch (error) {
    const answer = `${errorCode(error)}: ${errorChain(error)}`;
    const lacks = reading.lacks !== undefined && saysItLacks(error, reading.lacks) ? { lacks: reading.lacks } : {};
    return { asked: reading.asked, answer, ...lacks };
  } finally {
    await agents.close();
  }
}

describe('answers of ironic-python-agent by release', () => {
  test.each(recordings.map((recording) => [`${recording.name}: ${recording.shows}`, recording] as const))(
    '%s',
    async (_, recording) => {
      expect(await read(recording)).toEqual(recording.reading);
      expect(unasked).toEqual([]);
    },
  );

  test('there are those that lack an extension, of more than one release, and those that only seem to', () => {
    const missing = recordings.filter(({ reading }) => reading.answer.startsWith('none'));
    expect(new Set(missing.map(({ system }) => system)).size).toBeGreaterThan(2);
    const lookalikes = recordings.filter(
      ({ outputs: each, reading }) =>
        Object.values(each).some((text) => text.startsWith('HTTP/1.1 404')) && !reading.answer.startsWith('none'),
    );
    expect(lookalikes.length).toBeGreaterThan(2);
  });
});
