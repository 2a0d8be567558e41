import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createAgentClients } from '#conductor/agents/agent-client.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent-session.ts';
import type { OutboundRules } from '#conductor/kernel/outbound-url.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { errorChain } from '#shared/errors/app-error.ts';
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

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'baton-agent-client-'));
  const { certFile, keyFile } = await makeCertificate(directory, 'agent');
  certificate = await readFile(certFile, 'utf8');
  server = createServer({ cert: certificate, key: await readFile(keyFile) }, (_, response) => {
    asked += 1;
    response.end('{"commands": []}');
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

test('an agent is not called where the conductor may not call', async () => {
  const before = asked;
  expect(await list(certificate, { ...rules, allowLoopback: false })).toMatch(/loopback, link-local and metadata/);
  expect(asked).toBe(before);
});
