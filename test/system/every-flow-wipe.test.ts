import { and, asc, eq, gt, sql } from 'drizzle-orm';
import { pgTable, text } from 'drizzle-orm/pg-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Queryable } from '#conductor/kernel/db/open.ts';
import { flows } from '#conductor/kernel/db/schema/flow.ts';
import { waitUntil } from '#test/lab/wait-until.ts';
import { type FlowStage, openFlowStage, struckBy } from '#test/support/flow-stage.ts';
import { bmcCredential, type SimulatedSite, startSimulatedSite } from '#test/support/simulated-site.ts';
import { createSiteOperator, type SiteOperator } from '#test/support/site-operator.ts';
import { off } from '#test/support/step-node.ts';

/**
 * The release of an instance and the wipe after it are two flows, and what hands on from one to the other is the last
 * transaction of the first. Wherever the conductor dies, a step fails or an operator comes between, the node owes the wipe
 * from the request until its receipt, is wiped once, and is not available before.
 */

const name = 'handed-on';
const wipe = { preserve_local_storage: false };
let stage: FlowStage;

beforeAll(async () => {
  stage = await openFlowStage(name, { mac: '52:54:00:00:03:02' });
  await watchWipes(stage.conductor.context().db);
});
afterAll(() => stage.close());

const faults = pgTable('wipe_faults', { what: text().notNull() });

/** Has the database itself note, in whatever transaction it happens, what must never be committed of any node. */
async function watchWipes(db: Queryable): Promise<void> {
  await db.execute(sql`create table wipe_faults (what text not null)`);
  await db.execute(sql`
    create function watch_node() returns trigger language plpgsql as $$
    begin
      if new.owed_wipe is not null and new.provision_state in ('available', 'deploying') then
        insert into wipe_faults values (new.provision_state || ', and owes a wipe');
      end if;
      if old.owed_wipe is not null and new.owed_wipe is null and not exists (
        select from receipts where flow_uuid = (
          select uuid from flows where node_uuid = new.uuid order by started_at desc limit 1)) then
        insert into wipe_faults values ('owes no wipe any more, and its last flow has no receipt');
      end if;
      return null;
    end $$`);
  await db.execute(sql`create trigger watch_node after update on nodes for each row execute function watch_node()`);
  await db.execute(sql`
    create function watch_flow() returns trigger language plpgsql as $$
    begin
      if new.wipe is not null and exists (select from nodes where uuid = new.node_uuid and owed_wipe is null) then
        insert into wipe_faults values (new.kind || ' begins, and no wipe is owed');
      end if;
      return null;
    end $$`);
  await db.execute(sql`create trigger watch_flow after insert on flows for each row execute function watch_flow()`);
}

async function wipeFaults(): Promise<string[]> {
  const rows = await stage.conductor.context().db.select().from(faults);
  return rows.map(({ what }) => what);
}

test('what must never be committed is seen', async () => {
  const { db } = stage.conductor.context();
  await db.execute(sql`update nodes set owed_wipe = '{}'`);
  await db.execute(sql`update nodes set owed_wipe = null`);
  expect(await wipeFaults()).toEqual([
    'available, and owes a wipe',
    'owes no wipe any more, and its last flow has no receipt',
  ]);
  await db.execute(sql`delete from wipe_faults`);
});

interface Receipt {
  readonly flow: string;
  readonly disks_wiped: number;
}

const receiptsOf = async (node: string): Promise<readonly Receipt[]> =>
  (await stage.operator.call('GET', `/api/v1.0/receipts?node=${node}`))['receipts'] as readonly Receipt[];

describe('asked for by an operator', () => {
  let since = new Date(0);
  let sofar = 0;

  /** Adopted: it is released as any instance is, and was deployed in no time. Released again where that has failed. */
  async function prepare(): Promise<void> {
    await stage.heal();
    if ((await stage.stateNow()) !== 'error') {
      await stage.makeManageable();
      await stage.ask('adopt');
    }
    sofar = stage.machine.disk.length;
    since = new Date();
  }
  const start = () => stage.operator.provision(name, 'deleted', { wipe });

  async function flowsSince() {
    const { db } = stage.conductor.context();
    const { uuid } = await stage.operator.node(name);
    const isOne = and(eq(flows.nodeUuid, String(uuid)), gt(flows.startedAt, since));
    return db.select().from(flows).where(isOne).orderBy(asc(flows.startedAt));
  }

  test('a conductor that dies at any checkpoint: the node is wiped once, and available with its receipt', async () => {
    const deaths = await stage.dieAtEach({ prepare, start }, async (node, checkpoint) => {
      const ran = await flowsSince();
      const [receipt] = await receiptsOf(name);
      const end = {
        node,
        flows: ran.map(({ kind, state }) => `${kind} ${state}`),
        machine: stage.machine.state(),
        disk: stage.machine.disk.slice(sofar),
        receipt,
        faults: await wipeFaults(),
      };
      expect(end, `died at checkpoint ${checkpoint}`).toMatchObject({
        node: { provision_state: 'available', reservation: null, last_error: null },
        flows: ['teardown succeeded', 'wipe succeeded'],
        machine: off,
        disk: [`erase_devices disk-of-${stage.machine.mac}`],
        receipt: { flow: ran.at(-1)?.uuid, disks_wiped: 1 },
        faults: [],
      });
      expect(node['driver_internal_info']).not.toHaveProperty('baton_owed_wipe');
    });
    // four steps and five, each of which is started, acts, and is recorded
    expect(deaths).toBeGreaterThanOrEqual(27);
  });

  test('a failure of any step: the wipe is owed still, and the next way to `available` pays it', async () => {
    const ends: unknown[] = [];
    const failures = await stage.failEach({ prepare, start }, async (node, action) => {
      expect(node, `action ${action}`).toMatchObject({
        reservation: null,
        last_error: expect.stringContaining(struckBy) as unknown,
        driver_internal_info: { baton_owed_wipe: wipe },
      });
      expect(stage.machine.state(), `action ${action}`).toEqual(off);
      ends.push(node['provision_state']);
    });
    expect(ends).toEqual([...Array<string>(4).fill('error'), ...Array<string>(failures - 4).fill('clean failed')]);
    expect(failures).toBeGreaterThanOrEqual(9);
    expect(await wipeFaults()).toEqual([]);
  });
});

describe('of a site action', () => {
  let operator: SiteOperator;
  let site: SimulatedSite;
  beforeAll(async () => {
    const { conductor } = stage;
    operator = createSiteOperator(conductor.url);
    const members = [{ name: 'n1', rack: 'rack01', tags: [] }];
    site = await startSimulatedSite(members, { conductorUrl: () => conductor.url, firstMac: 0x800 });
    await operator.setCredential(bmcCredential.name, bmcCredential.account);
    await operator.commit('site', site.documents);
  });
  afterAll(() => site.close());
  beforeEach(async () => {
    stage.conductor.atCheckpoints(() => 'go on');
    const id = await operator.createAction('update_site', { 'continue-on-fail': true });
    await operator.waitForEnd(id);
    await stage.operator.waitForState('n1', 'active');
  });

  const node = () => stage.operator.node('n1');
  const machine = () => site.machines.get('n1');
  const wipes = () => machine()?.disk.filter((entry) => entry.startsWith('erase_devices ')).length;
  const untilDoing = (id: string, pattern: RegExp) =>
    waitUntil(
      `n1 to be ${String(pattern)}`,
      async () => pattern.test((await operator.actionNodes(id))[0]?.doing ?? '') || undefined,
      { everyMs: 20 },
    );

  /** The operator says so while the machine is being powered off. @returns the action */
  async function comeBetween(verb: 'pause' | 'stop'): Promise<string> {
    machine()?.bmc.freeze();
    const id = await operator.createAction('teardown_server', { target_nodes: ['n1'] });
    await waitUntil('the release to begin', async () => (await node())['provision_state'] === 'deleting' || undefined, {
      everyMs: 20,
    });
    await operator.control(id, verb);
    machine()?.bmc.thaw();
    return id;
  }
  const rested = { provision_state: 'manageable', driver_internal_info: { baton_owed_wipe: wipe } };

  test('paused during the release, it waits to be wiped, over a crash too, and is wiped when it goes on', async () => {
    const before = wipes() ?? 0;
    const id = await comeBetween('pause');
    await untilDoing(id, /^paused before wiping it$/);
    expect(await node()).toMatchObject(rested);
    const deaths = stage.conductor.deaths();
    stage.conductor.atCheckpoints(() => (stage.conductor.deaths() === deaths ? 'die' : 'go on'));
    await operator.control(id, 'unpause');
    expect(await operator.waitForEnd(id)).toMatchObject({ action_lifecycle: 'Complete' });
    expect(stage.conductor.deaths()).toBe(deaths + 1);
    expect(await node()).toMatchObject({ provision_state: 'available' });
    expect(wipes()).toBe(before + 1);
    expect(await receiptsOf('n1')).toHaveLength(1);
    expect(await wipeFaults()).toEqual([]);
  });

  test('stopped during the release, its disks are as they were, and the operator is told', async () => {
    const before = wipes();
    const id = await comeBetween('stop');
    const { action_lifecycle: lifecycle, steps } = await operator.waitForEnd(id);
    expect(lifecycle).toBe('Stopped');
    expect(await node()).toMatchObject(rested);
    expect(wipes()).toBe(before);
    const notes = steps.find((step) => step.id === 'final_report')?.notes ?? [];
    const reported = notes.find(({ subject }) => subject === 'n1')?.text;
    expect(reported).toContain('by hand: the disks of n1 were not touched by this action: `baton provide n1` wipes it');
    await stage.operator.provision('n1', 'provide');
    await stage.operator.waitForState('n1', 'available');
    expect(wipes()).toBe((before ?? 0) + 1);
    expect(await wipeFaults()).toEqual([]);
  });
});
