import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fetchSmall } from '#agent/image/fetch/fetch-small.ts';
import { createAgentClients } from '#conductor/agents/agent-client.ts';
import { createEtcdClient, MemberListAnswer } from '#conductor/cluster/etcd/etcd-client.ts';
import { openCluster } from '#conductor/cluster/kubernetes/client/open-cluster.ts';
import { redfishDriver } from '#conductor/drivers/redfish/redfish.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { createOvsdbClient } from '#conductor/networks/switches/ovsdb-client.ts';
import { sendEvent } from '#conductor/webhooks/deliver.ts';
import { newWebhookSecret } from '#conductor/webhooks/sign.ts';
import { secretPlace } from '#conductor/webhooks/webhook-store.ts';
import { AppError, errorChain } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { type OutboundRules, outboundAgent, parseOutboundAllowList } from '#shared/peers/outbound-url.ts';
import { run } from '#shared/process/run.ts';
import { type HostileBehaviour, hostileBehaviours, startHostileServer } from '#test/simulators/hostile-server.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

/** Every peer that Baton asks over HTTP, each as every hostile server: the call ends with an error that is meant, and lets go. */

const rules: OutboundRules = {
  setting: 'BATON_AGENT_NETWORKS',
  allow: parseOutboundAllowList('127.0.0.0/8'),
  allowLoopback: true,
  connectsHere: true,
};
/** Limit of one question; webhooks have ten times as much. */
const limitMs = 1000;
const uuid = '6f1b3a52-0000-4000-8000-000000000001';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'baton-hostile-peers-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const agent = async (url: string, name: string): Promise<unknown> => {
  const agents = createAgentClients(testSecrets, rules);
  const session = {
    nodeUuid: uuid,
    token: testSecrets.seal('token', nodePlace(uuid, 'agent_token')),
    callbackUrl: url,
    certificate: null,
    version: '1',
    createdAt: new Date(0),
    lastHeartbeatAt: null,
    bootMac: null,
    bootSource: null,
    served: null,
    attestation: null,
  };
  const client = agents.clientFor(session, AbortSignal.timeout(limitMs));
  try {
    return name === 'list' ? await client.list() : await client.post({ name, params: {} }, { wait: true });
  } finally {
    await agents.close();
  }
};

const bmc = async (
  url: string,
  ask: (bmc: ReturnType<ReturnType<typeof redfishDriver.open>['connect']>) => unknown,
): Promise<unknown> => {
  const options = { answerMs: limitMs, connectMs: limitMs, attempts: 1, retryMs: 1 };
  const type = redfishDriver.open({ run, log: silentLog, outbound: rules }, options);
  try {
    return await ask(type.connect({ redfish_address: url, redfish_username: 'a', redfish_password: 'b' }));
  } finally {
    await type.close?.();
  }
};

const etcd = async (url: string): Promise<unknown> => {
  const client = createEtcdClient({ limits: { connectMs: limitMs, askMs: limitMs, actMs: limitMs } });
  try {
    return await client.post(url, '/v3/cluster/member/list', {}, MemberListAnswer);
  } finally {
    await client.close();
  }
};

const kubernetes = async (url: string): Promise<unknown> => {
  const file = join(folder, new URL(url).port);
  const named = [
    {
      name: 'x',
      cluster: { server: url, 'insecure-skip-tls-verify': true },
      user: {},
      context: { cluster: 'x', user: 'x' },
    },
  ];
  await writeFile(
    file,
    JSON.stringify({
      apiVersion: 'v1',
      kind: 'Config',
      'current-context': 'x',
      clusters: named,
      users: named,
      contexts: named,
    }),
  );
  const cluster = await openCluster(file, { requestTimeoutMs: limitMs });
  try {
    const { body } = await cluster.request('GET', '/api/v1/nodes');
    return body;
  } finally {
    await cluster.close();
  }
};

const webhook = async (url: string): Promise<unknown> => {
  const sender = outboundAgent(rules);
  const row = { uuid, url, secret: testSecrets.seal(newWebhookSecret(), secretPlace(uuid)) };
  const sent = sendEvent({ secrets: testSecrets, rules, agent: sender }, row, { id: uuid, body: {} });
  const { error } = await sent;
  await sender.destroy();
  if (error !== undefined) throw new AppError('unavailable', error);
  return undefined;
};

const ovsdb = async (url: string): Promise<unknown> => {
  const client = createOvsdbClient(`tcp:${new URL(url).host}`);
  try {
    return await client.transact('Open_vSwitch', [{ op: 'select', table: 'Port', where: [] }], { timeoutMs: limitMs });
  } finally {
    client.close();
  }
};

/** Some answers are none to a peer that looks for something else: it may take them for an empty one. */
const peers: Readonly<Record<string, (url: string) => Promise<unknown>>> = {
  "an agent's list of commands": (url) => agent(url, 'list'),
  "an agent's steps": (url) => agent(url, 'deploy.get_deploy_steps'),
  "a BMC's power": (url) => bmc(url, ({ power }) => power.getPowerState({ timeoutMs: limitMs })),
  "a BMC's power off": (url) => bmc(url, ({ power }) => power.setPowerState('power off', { timeoutMs: limitMs })),
  "a BMC's boot device": (url) => bmc(url, ({ management }) => management.getBootDevice({ timeoutMs: limitMs })),
  "a BMC's BIOS settings": (url) => bmc(url, ({ bios }) => bios?.getSettings({ timeoutMs: limitMs })),
  etcd,
  Kubernetes: kubernetes,
  'a switch': ovsdb,
  'a receiver of webhooks': webhook,
  'an image server': (url) =>
    fetchSmall(`${url}/sums`, 'the checksum file', 100_000, { signal: AbortSignal.timeout(limitMs), rules }),
};

describe.each(Object.keys(peers))('%s', (name) => {
  test.concurrent.for(Object.keys(hostileBehaviours) as HostileBehaviour[])('%s', async (behaviour, { expect }) => {
    const server = await startHostileServer(behaviour);
    try {
      const error = await failureOf(peers[name]?.(`http://127.0.0.1:${server.port}`));
      expect(server.asked(), errorChain(error)).toBeGreaterThan(0);
      if (error !== undefined) {
        expect(error).toBeInstanceOf(AppError);
        expect((error as AppError).code, errorChain(error)).not.toBe('internal');
        expect(errorChain(error).length).toBeLessThan(5000);
      }
      // nothing is read on behind its back
      await expect.poll(() => server.open()).toBe(0);
    } finally {
      await server.close();
    }
  });
});

test('nothing was written into the prototype of everything', () => {
  expect(({} as Record<string, unknown>)['a']).toBeUndefined();
});

async function failureOf(asking: Promise<unknown> | undefined): Promise<unknown> {
  try {
    await asking;
    return undefined;
  } catch (error) {
    return error;
  }
}
