import { afterAll, expect, test } from 'vitest';
import { listServedParams } from '#conductor/flows/network/served-boot.ts';
import type { AgentSessionRow } from '#conductor/kernel/db/schema/agent.ts';
import { type NodeRow, nodes } from '#conductor/kernel/db/schema/node.ts';
import { ports } from '#conductor/kernel/db/schema/port.ts';
import { nodePlace } from '#conductor/kernel/secrets/node-secrets.ts';
import { availableNode } from '#test/support/available-node.ts';
import { openTestDatabase } from '#test/support/test-database.ts';
import { testSecrets } from '#test/support/test-secrets.ts';

const database = await openTestDatabase();
const { db } = database;
afterAll(() => database.close());

const [first, second] = ['52:54:00:00:00:01', '52:54:00:00:00:02'];

/** The parameters of a node with two cards, whose first has fetched the boot's token. */
async function served(boot: string, attestation: string) {
  const given = availableNode(crypto.randomUUID(), { driver: 'redfish', interfaces: { boot } });
  const [node] = await db.insert(nodes).values(given).returning();
  await db.delete(ports);
  await db
    .insert(ports)
    .values([first, second].map((address) => ({ uuid: crypto.randomUUID(), nodeUuid: given.uuid, address })));
  const session = {
    served: null,
    nodeUuid: given.uuid,
    token: testSecrets.seal('x', nodePlace(given.uuid, 'agent_token')),
    bootMac: boot === 'http' ? first : null,
  };
  const url = 'http://192.0.2.1:6385';
  const config = { boot: { url, insecureAgents: false }, publicUrl: url, kernelParams: 'quiet', attestation };
  const context = { db, secrets: testSecrets, config } as unknown as Parameters<typeof listServedParams>[0];
  const params = await listServedParams(context, node as NodeRow, session as unknown as AgentSessionRow);
  return params.map(({ parameters, secrets }) => [/BOOTIF=\S+/.exec(parameters)?.[0], secrets.length]);
}

test('by HTTP each card may have loaded the ramdisk, also the first without the token: from another address', async () => {
  expect(await served('http', 'record')).toEqual([
    [`BOOTIF=${first}`, 1],
    [`BOOTIF=${first}`, 0],
    [`BOOTIF=${second}`, 0],
  ]);
});

test('where machines prove themselves nothing secret is served by HTTP, which any stranger may load', async () => {
  const params = await served('http', 'require');
  expect(params).toEqual(expect.arrayContaining([first, second].map((mac) => [`BOOTIF=${mac}`, 0])));
  expect(params.filter(([, secrets]) => secrets !== 0)).toEqual([]);
});

test('a CD is the same whichever card there is', async () => {
  expect(await served('redfish-virtual-media', 'record')).toEqual([[undefined, 1]]);
});

test('a CD has the proof of its boot, unless a conductor of the release before serves it', async () => {
  expect(await served('redfish-virtual-media', 'require')).toEqual([
    [undefined, 1],
    [undefined, 0],
  ]);
});
