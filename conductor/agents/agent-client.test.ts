import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createAgentClients } from '#conductor/agents/agent-client.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { errorChain, errorCode } from '#shared/errors/app-error.ts';
import type { OutboundRules } from '#shared/peers/outbound-url.ts';
import { makeCertificate } from '#test/support/certificate.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

const rules: OutboundRules = {
  setting: 'BATON_AGENT_NETWORKS',
  allow: undefined,
  allowLoopback: true,
  connectsHere: true,
};
const nodeUuid = '6f1b3a52-0000-4000-8000-000000000001';
const signal = new AbortController().signal;
let directory: string;
let server: Server;
let certificate: string;
let asked = 0;
let answerStatus = 200;
let answer = (): string => '';

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-agent-client-'));
  const { certFile, keyFile } = await makeCertificate(directory, 'agent');
  certificate = await readFile(certFile, 'utf8');
  server = createServer({ cert: certificate, key: await readFile(keyFile) }, (request, response) => {
    asked += 1;
    response.statusCode = answerStatus;
    response.end(request.method === 'POST' ? answer() : '{"commands": []}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await rm(directory, { recursive: true, force: true });
});

const session = (announced: string | null): AgentSessionRow => ({
  nodeUuid,
  token: testSecrets.seal('token', nodePlace(nodeUuid, 'agent_token')),
  callbackUrl: `https://127.0.0.1:${(server.address() as AddressInfo).port}`,
  certificate: announced,
  version: '1',
  createdAt: new Date(0),
  lastHeartbeatAt: null,
  bootMac: null,
  bootSource: null,
  served: null,
  attestation: null,
});

async function list(announced: string | null, given = rules): Promise<unknown> {
  const agents = createAgentClients(testSecrets, given);
  try {
    return await agents.clientFor(session(announced), signal).list();
  } catch (error) {
    return errorChain(error);
  } finally {
    await agents.close();
  }
}

test('an agent is talked to that has the certificate it announced, and no other', async () => {
  expect(await list(certificate)).toEqual([]);
  const other = await makeCertificate(directory, 'other');
  const before = asked;
  expect(await list(await readFile(other.certFile, 'utf8'))).toMatch(/self.signed certificate/);
  // one that announced none must have a certificate of a known authority
  expect(await list(null)).toMatch(/self.signed certificate/);
  expect(asked).toBe(before);
});

test('connections of an agent that nothing is asked of for minutes are let go', async () => {
  const time = { ms: 0 };
  const agents = createAgentClients(testSecrets, rules, () => time.ms);
  const uuidOf = (number: number): string => nodeUuid.replace(/.$/, String(number));
  const ask = (number: number) => {
    const token = testSecrets.seal('token', nodePlace(uuidOf(number), 'agent_token'));
    return agents.clientFor({ ...session(certificate), nodeUuid: uuidOf(number), token }, signal);
  };
  const first = ask(1);
  await first.list();
  time.ms = 100_000;
  await ask(2).list();
  expect(agents.kept()).toBe(2);
  time.ms = 121_000;
  await ask(3).list();
  expect(agents.kept()).toBe(2);
  // a client that is still held connects again
  expect(await first.list()).toEqual([]);
  time.ms = 10_000_000;
  await ask(1).list();
  expect(agents.kept()).toBe(1);
  await agents.close();
});

test('an agent is not called where the conductor may not call', async () => {
  const before = asked;
  expect(await list(certificate, { ...rules, allowLoopback: false })).toMatch(/loopback, link-local and metadata/);
  expect(asked).toBe(before);
});

const command = (result: string): string =>
  `{"id": "1", "command_name": "c", "command_status": "SUCCEEDED", "command_error": null, "command_result": ${result}}`;

async function post(name: string, text: string, status = 200): Promise<unknown> {
  answer = () => text;
  answerStatus = status;
  const agents = createAgentClients(testSecrets, rules);
  try {
    return (await agents.clientFor(session(certificate), signal).post({ name, params: {} }, { wait: true }))
      .command_result;
  } catch (error) {
    return `${errorCode(error)}: ${errorChain(error)}`;
  } finally {
    answerStatus = 200;
    await agents.close();
  }
}

describe('what a hostile agent may answer', () => {
  test.each([
    ['more than 262144 bytes', command(`"${'A'.repeat(256 * 1024)}"`)],
    ['more than 10000 values', command(`[${'1,'.repeat(12_000)}1]`)],
    ['JSON deeper than 32', command('['.repeat(40))],
    ['JSON deeper than 32', '['.repeat(50_000)],
  ])('to a question for steps: not %s', async (refusal, text) => {
    expect(await post('deploy.get_deploy_steps', text)).toMatch(
      new RegExp(`^agent_error: .*the agent answers with ${refusal}`),
    );
  });

  test('logs of tens of MiB are taken, and parsed beside what else is done', async () => {
    const text = command(`{"system_logs": "${'A'.repeat(48 * 1024 * 1024)}"}`);
    const result = (await post('log.collect_system_logs', text)) as { readonly system_logs: string };
    expect(result.system_logs.length).toBe(48 * 1024 * 1024);
  });

  test('what is not a fault of an agent is not repeated', async () => {
    expect(await post('a.b', 'root:x:0:0', 500)).toBe('agent_error: send a.b to the agent: it answered 500');
    const long = JSON.stringify({ faultstring: 'x'.repeat(10_000) });
    expect(String(await post('a.b', long, 500)).length).toBeLessThan(600);
  });
});
