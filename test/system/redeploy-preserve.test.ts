import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ActionName } from '#conductor/model/site/action-parameters.ts';
import { silentLog } from '#shared/log.ts';
import { type ConductorInProcess, startConductorInProcess } from '#test/support/conductor-in-process.ts';
import { createOperator, type Operator } from '#test/support/operator.ts';
import { bmcCredential, type SimulatedSite, startSimulatedSite } from '#test/support/simulated-site.ts';
import { createSiteOperator, type SiteOperator } from '#test/support/site-operator.ts';

/** Disks that a redeploy was told to preserve are left alone by an action after it too, of which nobody said so. */

let conductor: ConductorInProcess;
let operator: SiteOperator;
let ironic: Operator;
let site: SimulatedSite;

beforeAll(async () => {
  conductor = await startConductorInProcess({ log: silentLog });
  operator = createSiteOperator(conductor.url);
  ironic = createOperator(conductor.url);
  site = await startSimulatedSite([{ name: 'n1', rack: 'rack01', tags: [] }], {
    conductorUrl: () => conductor.url,
    firstMac: 0x700,
    moreDisks: [{ name: '/dev/sdb', serial: 'DATA-1' }],
  });
  await operator.setCredential(bmcCredential.name, bmcCredential.account);
  await operator.commit('site', site.documents);
});
afterAll(async () => {
  await site?.close();
  await conductor?.close();
});

async function act(name: ActionName, parameters: Record<string, unknown> = {}): Promise<string> {
  const id = await operator.createAction(name, parameters);
  return (await operator.waitForEnd(id)).action_lifecycle;
}

const machine = () => {
  const found = site.machines.get('n1');
  if (!found) throw new Error('there is no n1');
  return found;
};
/** Steps that write to disks, by the kept disk being on the list of those that they leave alone. */
function writersSince(count: number): readonly (readonly [string, boolean])[] {
  return machine()
    .stepTimes.slice(count)
    .filter(({ step }) => /^(erase_devices_metadata|write_image|delete_configuration|create_configuration)$/.test(step))
    .map(({ step, skipList }) => [step, JSON.stringify(skipList ?? []).includes('DATA-1')]);
}
const wipes = () => machine().disk.filter((entry) => entry.startsWith('erase_devices '));

test('a preserving redeploy fails to deploy, update_site tears that down and deploys: the kept disk is never touched', async () => {
  expect(await act('deploy_site')).toBe('Complete');
  machine().faults.failStep = { step: 'write_image', message: 'the image server is away', once: true };
  const before = machine().stepTimes.length;
  expect(await act('redeploy_server', { target_nodes: ['n1'], 'preserve-local-storage': true })).toBe('Failed');
  expect(await ironic.node('n1')).toMatchObject({
    provision_state: 'deploy failed',
    driver_internal_info: { baton_spared_disks: [{ serial: 'DATA-1' }] },
  });
  // another port: it is torn down before it is deployed, which releases it and cleans it
  const more = '  interfaces:\n    eth1:\n      mac: 52:54:00:05:f0:01\n      pxe: false\n';
  const changed = site.documents.replace(/ {2}interfaces:\n/, more);
  expect(changed).not.toBe(site.documents);
  await operator.commit('site', changed);
  expect(await act('update_site')).toBe('Complete');
  const writers = writersSince(before);
  expect(writers.map(([step]) => step)).toContain('write_image');
  expect(writers.filter(([, isKept]) => !isKept)).toEqual([]);
  expect(wipes()).toHaveLength(1);
  expect(wipes()[0]).not.toContain('DATA-1');
  expect(await ironic.node('n1')).toMatchObject({ provision_state: 'active' });
});

test('redeployed without preserving, all of it is wiped', async () => {
  expect(await act('redeploy_server', { target_nodes: ['n1'] })).toBe('Complete');
  expect(wipes().at(-1)).toContain('DATA-1');
  // no other cleaning between the wipe and the deploy
  const last = machine().stepTimes.findLastIndex(({ step }) => step === 'erase_devices');
  expect(writersSince(last).map(([step]) => step)).not.toContain('erase_devices_metadata');
});
