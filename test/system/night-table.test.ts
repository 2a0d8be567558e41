import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { FlowSummaryView, FlowView } from '#conductor/api/flows.ts';
import type { FleetView } from '#conductor/api/node-parts.ts';
import { arrangeTroubles } from '#conductor/board/render/arrange-troubles.ts';
import { renderAttention } from '#conductor/board/render/render-attention.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';
import { boardNode } from '#conductor/board/testing/board-node.ts';
import { textOf } from '#conductor/board/testing/text-of.ts';
import { buttonsFor } from '#conductor/board/views/attention-view.ts';
import { renderFleet } from '#conductor/cli/status-command.ts';
import { createLog } from '#shared/log.ts';
import { type FailingDeploys, failingDeploysOn } from '#test/support/failing-deploys.ts';
import { freePort } from '#test/support/free-port.ts';
import { answeringFaults, type NightFault, refusedFault, silentFault, untilNamed } from '#test/support/night-faults.ts';
import { openStepNode, waitUntil } from '#test/support/step-node.ts';

/**
 * Faults of a night, each made in the simulated rack: the code, who says it (API, CLI, board, log), what to do, and the
 * way out, after which the machine is deployed. How long the cause takes to be named is printed, and not judged.
 */

let deploys: FailingDeploys;
const log: string[] = [];

function withSettings(settings: Readonly<Record<string, string>>): void {
  beforeAll(async () => {
    const only = { write: (line: string): void => void log.push(line) };
    const node = await openStepNode({
      settings: { BATON_HEARTBEAT_TIMEOUT: '2', ...settings },
      plainHttp: true,
      log: createLog({ component: 'night', only }),
    });
    deploys = failingDeploysOn(node);
  });
  afterAll(() => deploys.node.close());
}

async function readFlow(): Promise<FlowView> {
  const { node } = deploys;
  return (await node.operator.call('GET', `/v1/nodes/${node.name}/flow`)) as unknown as FlowView;
}

/** The lines of `baton status`. */
async function statusLines(flow: FlowSummaryView, advice: string): Promise<string> {
  const fleet = (await deploys.node.operator.call('GET', '/v1/fleet')) as FleetView;
  const known = new Map([[flow.uuid, advice]]);
  return renderFleet({ fleet, flows: [flow], all: false, advice: known }, new Date(), 10_000).join('\n');
}

/** Renders the board's view of what needs somebody: its text, and its buttons. */
async function onTheBoard(flow: FlowSummaryView, advice: string): Promise<{ text: string; buttons: string[] }> {
  const shown = await deploys.node.operator.node(deploys.node.name);
  const known = Object.keys(boardNode()).filter((key) => key in shown);
  const row: BoardNode = boardNode(Object.fromEntries(known.map((key) => [key, shown[key]])));
  const nodes = new Map([[row.uuid, row]]);
  const troubles = arrangeTroubles([flow], nodes);
  const picture = {
    troubles,
    others: [],
    advice: new Map(troubles.map(({ key }) => [key, advice])),
    isKnown: true,
    nodes: [row],
    aborted: [],
    working: 0,
    buttonsOf: buttonsFor,
  };
  const buttons = troubles.flatMap(buttonsFor).map(({ title }) => title.replace('…', ''));
  return { text: textOf(renderAttention(picture, new Date())).replaceAll('&#39;', "'"), buttons };
}

/** Takes the fault away, and has the node deployed. */
async function wayOut({ named }: NightFault): Promise<void> {
  const { node } = deploys;
  if (named !== 'failed') await node.operator.provision(node.name, 'abort');
  node.heal();
  await node.operator.waitForState(node.name, 'deploy failed');
  await node.operator.provision(node.name, 'rebuild');
  expect(await deploys.isActive()).toBe(true);
}

async function expectNamed(fault: NightFault): Promise<void> {
  const { happens, make, amid, code, subject, named, says, logged, corrected } = fault;
  const { node } = deploys;
  await node.rest('available');
  node.heal();
  log.length = 0;
  make(node);
  await deploys.start();
  await amid?.(node);
  const begun = performance.now();
  const flow = await untilNamed(node, fault);
  process.stdout.write(`${happens}: ${code} after ${((performance.now() - begun) / 1000).toFixed(1)} s\n`);
  expect(flow.subject).toBe(subject ?? null);
  if (named === 'failed') await node.operator.waitForState(node.name, 'deploy failed');
  const advice = await waitUntil('the advice', async () => (await readFlow()).advice ?? undefined);
  expect(advice).toMatch(says);
  expect(advice).toContain(named === 'failed' ? 'Then `baton rebuild stepper` tries again' : '');
  const lines = await statusLines(flow, advice);
  expect(lines).toContain(named);
  expect(lines).toContain(`→ ${advice}`);
  const { text, buttons } = await onTheBoard(flow, advice);
  expect(text).toContain(node.name);
  expect(text.replaceAll(/\s+/g, '')).toContain(advice.replaceAll('`', '').replaceAll(/\s+/g, ''));
  const wanted = named === 'failed' ? ['Rebuild', ...(corrected === undefined ? [] : [corrected])] : [];
  expect(buttons).toEqual(expect.arrayContaining(wanted));
  expect(log.filter((line) => logged.test(line)).length).toBeGreaterThan(0);
  await wayOut(fault);
}

describe('what answers', () => {
  withSettings({});
  test.each(answeringFaults)('$happens: $code', expectNamed);
});

describe('what is silent', () => {
  withSettings({ BATON_CALLBACK_TIMEOUT: '10' });
  test('the machine boots nothing: ramdisk_silent', () => expectNamed(silentFault));
});

describe('what the conductor refuses itself', () => {
  withSettings({ BATON_REQUIRE_AGENT_TLS: 'true' });
  test('heartbeats without TLS', async () => {
    const { node } = deploys;
    await deploys.start();
    const flow = await untilNamed(node, refusedFault);
    expect(flow.reason).toMatch(/^the conductor refuses the machine: .*TLS/);
    const advice = await waitUntil('the advice', async () => (await readFlow()).advice ?? undefined);
    expect(advice).toMatch(refusedFault.says);
    expect(await statusLines(flow, advice)).toContain(`→ ${advice}`);
    expect((await onTheBoard(flow, advice)).text).toContain('the conductor refuses the machine');
    expect(log.filter((line) => refusedFault.logged.test(line)).length).toBeGreaterThan(0);
    await node.operator.provision(node.name, 'abort');
    await node.operator.waitForState(node.name, 'deploy failed');
  });
});

describe('a switch that is away', () => {
  let folder: string;
  const leaf = '00:11:22:33:44:55';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'baton-night-'));
    const networks = {
      switches: [{ switch_id: leaf, driver: 'ovs', endpoint: `tcp:127.0.0.1:${await freePort()}` }],
      networks: { provisioning: { vlan: 100 }, tenant: { vlan: 200 } },
      defaults: { provisioning: 'provisioning', cleaning: 'provisioning', tenant: 'tenant' },
    };
    await writeFile(join(folder, 'networks.yaml'), JSON.stringify(networks));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('it is named, as one thing of all its nodes', async () => {
    const node = await openStepNode({
      settings: { BATON_NETWORKS_FILE: join(folder, 'networks.yaml') },
      log: createLog({ component: 'night', only: { write: (line) => void log.push(line) } }),
    });
    deploys = failingDeploysOn(node);
    try {
      const { ports } = (await node.operator.call('GET', `/v1/ports?node=${node.name}`)) as {
        readonly ports: readonly { readonly uuid: string }[];
      };
      const plug = { switch_id: leaf, port_id: 'tap1' };
      await node.operator.call('PATCH', `/v1/ports/${ports[0]?.uuid}`, [
        { op: 'add', path: '/local_link_connection', value: plug },
      ]);
      await node.patch('/network_interface', 'switchport');
      await node.patch('/instance_info', {
        image_source: 'http://images/a',
        image_os_hash_algo: 'sha256',
        image_os_hash_value: 'a'.repeat(64),
      });
      await node.operator.provision(node.name, 'active');
      const flow = await untilNamed(node, { ...silentFault, code: 'switch_unreachable', named: 'retrying' });
      expect(flow.subject).toBe(leaf);
      const advice = await waitUntil('the advice', async () => (await readFlow()).advice ?? undefined);
      expect(advice).toMatch(new RegExp(`^Switch ${leaf} can't be reached`));
      expect(await statusLines(flow, advice)).toContain(`→ ${advice}`);
      expect((await onTheBoard(flow, advice)).buttons).toContain('Try now');
      expect(log.filter((line) => /step waits/.test(line)).length).toBeGreaterThan(0);
    } finally {
      await node.close();
    }
  });
});
